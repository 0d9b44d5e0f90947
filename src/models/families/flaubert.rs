//! `flaubert` (transformers 5.23, `models/flaubert`): XLM for French.

use crate::models::prelude::*;

/// `flaubert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["flaubert"],
    class: "Flaubert",
    labels: &[("flaubert", "FlauBERT")],
    modules: &Modules {
        model_type: "flaubert",
        choice: FamilyChoice { rank: 89, word: "flaubert", label: "FlauBERT" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules { ..super::xlm::FAMILY.modules.encoder },
        ..*super::xlm::FAMILY.modules
    },
    ..super::xlm::FAMILY
};
