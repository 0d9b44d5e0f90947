//! `minicpm` (code of its own on the hub, `openbmb/MiniCPM-2B-sft-bf16`): llama with factors on
//! embedding, residuals and what stands before the head.

use crate::models::prelude::*;

/// `minicpm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minicpm", "minicpmv", "minicpm4"],
    class: "MiniCPM",
    saved_with: &["MiniCPM4", "MiniCPMV"],
    labels: &[("minicpm", "MiniCPM")],
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048),
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    not_looked_at: &["dim_model_base", "linear_impl_type", "drop_vision_last_layer"],
    // Models that see are built on other models' text parts, of which their files say the number
    // alone.
    instead: &[
        ("num_experts", "", "minicpm-moe"),
        ("version", "2.5", "llama"),
        ("version", "2.6", "qwen2"),
        ("version", "4", "llama"),
        ("version", "4.0", "llama"),
        ("version", "4.5", "qwen3"),
    ],
    ..FamilySpec::PLAIN
};
