//! `diffllama` (transformers 5.23, `models/diffllama`): llama with differential attention.

use crate::models::prelude::*;

/// `diffllama`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["diffllama"],
    class: "DiffLlama",
    labels: &[("diffllama", "DiffLlama")],
    modules: &Modules {
        model_type: "diffllama",
        choice: FamilyChoice { rank: 77, word: "diffllama", label: "DiffLlama" },
        differential: true,
        takes_prefix: false,
        tensor_plan: None,
        shape: Some(ShapeRule {
            mlp_bias: Some(false),
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    rounds_heads_down: true,
    sizes: Sizes::of([2048, 8192], 16, 32, 32_000, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Is(false),
    ..super::llama::FAMILY
};
