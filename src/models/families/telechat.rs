//! `telechat` (code of its own on the hub, `Tele-AI/telechat-7B`): llama with biases on the last
//! product of each half; keys and values are made by one matrix.

use crate::models::prelude::*;

/// `telechat`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["telechat"],
    class: "Telechat",
    labels: &[("telechat", "TeleChat")],
    older_names: true,
    modules: &Modules {
        model_type: "telechat",
        choice: FamilyChoice { rank: 90, word: "telechat", label: "TeleChat" },
        feed_forward: FeedForwardStyle::SeparateBiasedDown,
        tensor_plan: None,
        takes_prefix: false,
        shape: Some(ShapeRule {
            mlp_bias: Some(true),
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        // Its code is no part of transformers, and no row was measured.
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        ..Modules::PLAIN
    },
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_hidden_size"]),
    sizes: Sizes::of([4096, 12_288], 30, 32, 160_256, 8192),
    tied: true,
    output_bias: Flag::Is(true),
    mlp_bias: Flag::Is(true),
    only: &[Only::else_refused("embed_layernorm", &["false"], "a norm behind its embedding")],
    not_looked_at: &["skip_bias_add_qkv"],
    ..FamilySpec::PLAIN
};
