//! `deberta` (transformers 5.23, `models/deberta`): DeBERTa v2 with one projection for queries,
//! keys and values.

use crate::models::prelude::*;

/// `deberta`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deberta"],
    class: "Deberta",
    labels: &[("deberta", "DeBERTa")],
    modules: &Modules {
        model_type: "deberta",
        choice: FamilyChoice { rank: 90, word: "deberta", label: "DeBERTa" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            keys_without_bias: true,
            ..super::deberta_v2::FAMILY.modules.encoder
        },
        ..*super::deberta_v2::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_265, 512),
    ..super::deberta_v2::FAMILY
};
