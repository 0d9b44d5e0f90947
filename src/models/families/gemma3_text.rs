//! `gemma3_text`, the text part of `gemma3` (transformers 5.23, `models/gemma3`): Gemma 2 with
//! normed queries and keys, and rotary tables of their own for sliding layers.

use crate::models::prelude::*;

/// `gemma3_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma3_text", "gemma3"],
    class: "Gemma3",
    gguf: Some(Gguf::with(
        "gemma3_text",
        "gemma3",
        &[("attention.sliding_window", "sliding_window")],
    )),
    modules: &Modules {
        model_type: "gemma3_text",
        choice: FamilyChoice { rank: 6, word: "gemma3", label: "Gemma 3" },
        query_key_norm: QueryKeyNorm::AfterTransposing,
        tables_for_each_kind: true,
        ..*super::gemma2::FAMILY.modules
    },
    sizes: Sizes::of([2304, 9216], 26, 8, 262_208, 131_072).kv(4).head(256),
    qk_norm: Flag::Is(true),
    window: Window::AllButEvery { period: 6, window: 4096 },
    attention_cap: Flag::Number("attn_logit_softcapping", false),
    logit_cap: Flag::Number("final_logit_softcapping", false),
    ..super::gemma2::FAMILY
};
