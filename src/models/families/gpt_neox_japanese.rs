//! `gpt_neox_japanese` (transformers 5.23, `models/gpt_neox_japanese`): one projection whose
//! columns alternate head by head, no biases but one behind the last layer's attention.

use crate::models::prelude::*;

/// `gpt_neox_japanese`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_neox_japanese"],
    class: "GPTNeoXJapanese",
    labels: &[("gpt_neox_japanese", "GPT-NeoX Japanese")],
    modules: &Modules {
        model_type: "gpt_neox_japanese",
        choice: FamilyChoice { rank: 640, word: "gpt-neox-japanese", label: "GPT-NeoX Japanese" },
        block: BlockLayout::JointByHeadWritten,
        splits_tokens: false,
        takes_prefix: false,
        tensor_plan: None,
        shape: Some(ShapeRule {
            mlp_bias: Some(false),
            key_head_for_each_query_head: true,
            attention_bias: Some(false),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Multiple(("intermediate_multiple_size", 4)),
    heads_fill_hidden: true,
    sizes: Sizes::of([2560, 10_240], 32, 32, 32_000, 2048),
    tied: true,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    mlp_bias: Flag::Is(false),
    ..FamilySpec::CLASSIC
};
