//! `internlm3` (transformers 5.23, `models/internlm3`): llama's modules with defaults of its own.

use crate::models::prelude::*;

/// `internlm3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["internlm3"],
    class: "InternLM3",
    saved_with: &["Llama"],
    labels: &[("internlm3", "InternLM3")],
    sizes: Sizes::of([4096, 10_240], 48, 32, 128_512, 32_768).kv(2).head(128),
    ..super::llama::FAMILY
};
