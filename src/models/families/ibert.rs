//! `ibert` (transformers 5.23, `models/ibert`): RoBERTa whose modules can compute with whole
//! numbers.

use crate::models::prelude::*;

/// `ibert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ibert"],
    class: "IBert",
    labels: &[("ibert", "I-BERT")],
    modules: &Modules {
        model_type: "ibert",
        choice: FamilyChoice { rank: 86, word: "ibert", label: "I-BERT" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules { trains: false, ..EncoderModules::PLAIN },
        ..*super::roberta::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    ..super::roberta::FAMILY
};
