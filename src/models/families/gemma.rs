//! `gemma` (transformers 5.23, `models/gemma`): llama's block with norms scaled by one plus the
//! weight, and a scaled embedding.

use crate::models::prelude::*;

/// `gemma`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma"],
    class: "Gemma",
    gguf: Some(Gguf::of("gemma", "gemma")),
    modules: &Modules {
        model_type: "gemma",
        choice: FamilyChoice { rank: 4, word: "gemma", label: "Gemma" },
        norm: NormStyle::OnePlusScale,
        embedding_scale: EmbeddingScale::Buffer,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([3072, 24_576], 28, 16, 256_000, 8192).kv(16).head(256),
    act: HiddenAct::Gelu,
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    ..FamilySpec::PLAIN
};
