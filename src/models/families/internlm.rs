//! `internlm` (code of its own on the hub, `internlm/internlm-7b`): llama with one switch for the
//! biases of attention.

use crate::models::prelude::*;

/// `internlm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["internlm"],
    class: "InternLM",
    labels: &[("internlm", "InternLM")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([4096, 11_008], 32, 32, 103_168, 2048),
    attention_bias: Flag::Key("bias", true),
    output_bias: Flag::Key("bias", true),
    mlp_bias: Flag::Is(false),
    ..super::llama::FAMILY
};
