//! `mllama_text_model`, the text part of Llama 3.2 Vision (transformers 5.23): llama's block; texts
//! pass by the layers that attend to images, which belong to its projector.

use crate::models::prelude::*;

/// `mllama_text_model`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mllama_text_model"],
    class: "Mllama",
    labels: &[("mllama", "Llama 3.2 Vision")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([4096, 14_336], 40, 32, 128_256, 131_072).kv(8),
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    mlp_bias: Flag::Is(false),
    crossed: Some("cross_attention_layers"),
    ..super::llama::FAMILY
};
