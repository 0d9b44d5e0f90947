//! `albert` (transformers 5.23, `models/albert`): BERT with an embedding of its own width, and one
//! block that runs in every layer.

use crate::models::prelude::*;

/// `albert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["albert"],
    class: "Albert",
    labels: &[("albert", "ALBERT")],
    modules: &Modules {
        model_type: "albert",
        choice: FamilyChoice { rank: 76, word: "albert", label: "ALBERT" },
        encoder: EncoderModules {
            tasks: TaskHeads::POOLING,
            always_widens: true,
            head_width: HeadWidth::OfEmbedding,
            runs_again: false,
            shares_blocks: true,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([4096, 16_384], 12, 64, 30_000, 512),
    act: HiddenAct::GeluNew,
    embedding_size: Some(("embedding_size", 128)),
    only: &[
        Only::else_refused("num_hidden_groups", &["0", "1"], "several groups of shared blocks"),
        Only::else_refused("inner_group_num", &["0", "1"], "groups of several blocks"),
    ],
    ..super::bert::FAMILY
};
