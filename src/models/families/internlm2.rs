//! `internlm2` (code of its own on the hub, `internlm/internlm2-7b`): llama with queries, keys and
//! values of each group side by side in one matrix.

use crate::models::prelude::*;

/// `internlm2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["internlm2"],
    class: "InternLM2",
    labels: &[("internlm2", "InternLM2")],
    sizes: Sizes::of([4096, 11_008], 32, 32, 103_168, 2048),
    attention_bias: Flag::Key("bias", true),
    output_bias: Flag::Key("bias", true),
    ..FamilySpec::PLAIN
};
