//! `qwen` (code of its own on the hub, `Qwen/Qwen-7B`), the first Qwen: biases on queries, keys and
//! values; gate and up are each half as wide as the file says.

use crate::models::prelude::*;

/// `qwen`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen"],
    class: "QWen",
    labels: &[("qwen", "Qwen (1)")],
    // `kv_channels` is in the list of names for the width of a head; positions are not trained
    // beyond `seq_length`.
    older_names: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::HalfOf(&["intermediate_size", "ffn_hidden_size"]),
    sizes: Sizes::of([4096, 22_016], 32, 32, 151_936, 8192).head(128),
    attention_bias: Flag::Is(true),
    only: &[Only::else_refused("no_bias", &["true"], "biases on its other matrices")],
    not_looked_at: &["tokenizer_type"],
    ..FamilySpec::PLAIN
};
