//! `qwen3` (transformers 5.23, `models/qwen3`): llama's block with a norm over every query and key
//! head.

use crate::models::prelude::*;

/// `qwen3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3"],
    class: "Qwen3",
    gguf: Some(Gguf::of("qwen3", "qwen3")),
    modules: &Modules {
        model_type: "qwen3",
        choice: FamilyChoice { rank: 3, word: "qwen3", label: "Qwen3" },
        measured: Measured { fused_kernels: true, ..Modules::PLAIN.measured },
        slots_at_both_ends: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 22_016], 32, 32, 151_936, 32_768).kv(32).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    window: Window::FromIfUsed,
    ..FamilySpec::PLAIN
};
