//! `llama` (transformers 5.23, `models/llama`): the block that most others are like: norm,
//! attention, sum, norm, gated feed-forward, sum.

use crate::models::prelude::*;

/// `llama`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["llama", "smollm", "llava_llama"],
    class: "Llama",
    gguf: Some(Gguf::with("llama", "llama", &[("attn_q.bias", "attention_bias")])),
    modules: &Modules {
        model_type: "llama",
        choice: FamilyChoice { rank: 0, word: "llama", label: "Llama" },
        gguf: GgufRules { eighty_layers_are_70b: true, ..Modules::PLAIN.gguf },
        measured: Measured { written_out: true, fused_kernels: true, tensor_parallel: true },
        slots_at_both_ends: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    ..FamilySpec::PLAIN
};
