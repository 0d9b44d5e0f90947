//! `longt5` (transformers 5.23, `models/longt5`): T5 whose encoder sees nearby tokens, or these and
//! the means of blocks.

use crate::models::prelude::*;

/// `longt5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["longt5"],
    class: "LongT5",
    labels: &[("longt5", "LongT5")],
    modules: &Modules {
        model_type: "longt5",
        choice: FamilyChoice { rank: 163, word: "longt5", label: "LongT5" },
        encoder: EncoderModules { trains: false, ..super::t5::FAMILY.modules.encoder },
        ..*super::t5::FAMILY.modules
    },
    only: &[Only::else_refused(
        "encoder_attention_type",
        &["local"],
        "attention to blocks of the text",
    )],
    not_looked_at: &[
        "relative_attention_max_distance",
        "dense_act_fn",
        "is_gated_act",
        "scale_decoder_outputs",
        "n_positions",
        "local_radius",
        "global_block_size",
    ],
    ..super::t5::FAMILY
};
