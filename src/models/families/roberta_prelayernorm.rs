//! `roberta-prelayernorm` (transformers 5.23, `models/roberta_prelayernorm`): RoBERTa with norms
//! before each half.

use crate::models::prelude::*;

/// `roberta-prelayernorm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["roberta-prelayernorm"],
    class: "RobertaPreLayerNorm",
    labels: &[("roberta-prelayernorm", "RoBERTa-PreLayerNorm")],
    modules: &Modules {
        model_type: "roberta-prelayernorm",
        choice: FamilyChoice {
            rank: 64,
            word: "roberta-prelayernorm",
            label: "RoBERTa-PreLayerNorm",
        },
        norms_follow_without_final: false,
        registers_norms_first: false,
        ..*super::roberta::FAMILY.modules
    },
    final_norm: true,
    ..super::roberta::FAMILY
};
