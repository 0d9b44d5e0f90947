//! `minicpm` (code of its own on the hub, `openbmb/MiniCPM-2B-sft-bf16`): llama with factors on embedding, residuals and what stands before
//! the head.

use crate::models::prelude::*;

/// `minicpm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minicpm"],
    class: "MiniCPM",
    labels: &[("minicpm", "MiniCPM")],
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048),
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    only: &[Only::else_refused("num_experts", &["0"], "experts")],
    not_looked_at: &["dim_model_base"],
    ..FamilySpec::PLAIN
};
