//! `qwen2` (transformers 5.23, `models/qwen2`): llama's block with biases on queries, keys and
//! values.

use crate::models::prelude::*;

/// `qwen2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen2", "llava_qwen", "llava_qwen2", "Dream"],
    class: "Qwen2",
    saved_with: &["DreamModel"],
    gguf: Some(Gguf::of("qwen2", "qwen2")),
    modules: &Modules {
        model_type: "qwen2",
        choice: FamilyChoice { rank: 2, word: "qwen2", label: "Qwen2" },
        gguf: GgufRules { eighty_layers_are_70b: true, ..Modules::PLAIN.gguf },
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 22_016], 32, 32, 151_936, 32_768).kv(32),
    attention_bias: Flag::Is(true),
    window: Window::FromIfUsed,
    ..FamilySpec::PLAIN
};
