//! `big_bird` (transformers 5.23, `models/big_bird`): BERT with attention to blocks of tokens.

use crate::models::prelude::*;

/// `big_bird`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["big_bird"],
    class: "BigBird",
    labels: &[("big_bird", "BigBird")],
    modules: &Modules {
        model_type: "big_bird",
        choice: FamilyChoice { rank: 82, word: "big-bird", label: "BigBird" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules { trains: false, pools: true, ..EncoderModules::PLAIN },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_358, 4096),
    act: HiddenAct::GeluNew,
    not_looked_at: &["attention_type", "block_size"],
    only: &[Only::else_refused("use_bias", &["true"], "projections without biases")],
    keeps: Some(keeps_heads),
    ..super::bert::FAMILY
};
