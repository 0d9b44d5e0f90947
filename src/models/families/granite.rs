//! `granite` (transformers 5.23, `models/granite`): llama's block with factors on embedding,
//! residuals and logits.

use crate::models::prelude::*;

/// `granite`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granite"],
    class: "Granite",
    gguf: Some(Gguf::with("granite", "granite", &[("attn_q.bias", "attention_bias")])),
    modules: &Modules {
        model_type: "granite",
        choice: FamilyChoice { rank: 23, word: "granite", label: "Granite" },
        block: BlockLayout::OwnOrder,
        embedding_scale: EmbeddingScale::Number,
        scales_residuals: true,
        scales_logits: true,
        slots_at_both_ends: true,
        ..Modules::PLAIN
    },
    ..super::llama::FAMILY
};
