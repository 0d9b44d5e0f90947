//! `gpt_neox` (transformers 5.23, `models/gpt_neox`): attention beside the feed-forward layer, one
//! projection whose columns alternate head by head.

use crate::models::prelude::*;

/// `gpt_neox`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_neox", "gpt_neox_reward_model"],
    class: "GPTNeoX",
    labels: &[("gpt_neox", "GPT-NeoX")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    modules: &Modules {
        model_type: "gpt_neox",
        choice: FamilyChoice { rank: 8, word: "gpt-neox", label: "GPT-NeoX" },
        block: BlockLayout::JointByHead,
        shape: Some(ShapeRule {
            key_head_for_each_query_head: true,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([6144, 24_576], 44, 64, 50_432, 2048),
    rotary_percent: 25.0,
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_bias", true),
    parallel: Flag::Key("use_parallel_residual", true),
    ..FamilySpec::CLASSIC
};
