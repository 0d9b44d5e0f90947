//! `roberta` (transformers 5.23, `models/roberta`) and those with its modules: BERT with positions
//! counted from the tokens.

use crate::models::prelude::*;

/// `roberta`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["roberta"],
    class: "Roberta",
    labels: &[("roberta", "RoBERTa")],
    modules: &Modules {
        model_type: "roberta",
        choice: FamilyChoice { rank: 61, word: "roberta", label: "RoBERTa" },
        position_ids: PositionIds::FromTokens,
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_265, 512),
    ..super::bert::FAMILY
};
