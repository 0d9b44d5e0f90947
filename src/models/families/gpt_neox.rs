//! `gpt_neox` (transformers 5.23, `models/gpt_neox`): attention beside the feed-forward layer, one projection whose columns
//! alternate head by head.

use crate::models::prelude::*;

/// `gpt_neox`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_neox"],
    class: "GPTNeoX",
    labels: &[("gpt_neox", "GPT-NeoX")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    family: Family::GptNeox,
    sizes: Sizes::of([6144, 24_576], 44, 64, 50_432, 2048),
    rotary_percent: 25,
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_bias", true),
    parallel: Flag::Key("use_parallel_residual", true),
    ..FamilySpec::CLASSIC
};
