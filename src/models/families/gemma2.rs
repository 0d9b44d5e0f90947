//! `gemma2` (transformers 5.23, `models/gemma2`): Gemma with norms before and behind each half,
//! every second layer sliding, scores and logits capped.

use crate::models::prelude::*;

/// `gemma2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma2"],
    class: "Gemma2",
    gguf: Some(Gguf::with("gemma2", "gemma2", &[("attention.sliding_window", "sliding_window")])),
    modules: &Modules {
        model_type: "gemma2",
        choice: FamilyChoice { rank: 5, word: "gemma2", label: "Gemma 2" },
        block: BlockLayout::Sandwich,
        shape: Some(ShapeRule { norms_per_block: [4, 4], ..ShapeRule::PLAIN }),
        measured: Modules::PLAIN.measured,
        ..*super::gemma::FAMILY.modules
    },
    sizes: Sizes::of([2304, 9216], 26, 8, 256_000, 8192).kv(4).head(256),
    norms: Norms::Are(4),
    window: Window::AllButEvery { period: 2, window: 4096 },
    attention_cap: Flag::Number("attn_logit_softcapping", true),
    logit_cap: Flag::Number("final_logit_softcapping", true),
    ..super::gemma::FAMILY
};
