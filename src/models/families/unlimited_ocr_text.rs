//! `unlimited_ocr_text`, the text part of Unlimited-OCR (transformers 5.23): llama's block with
//! `DeepSeek`-V2's experts. Its layers see all tokens of the prompt and a window of what follows.

use crate::models::prelude::*;

/// `unlimited_ocr_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["unlimited_ocr_text", "unlimited-ocr"],
    class: "UnlimitedOcrText",
    saved_with: &["DeepseekOCR", "UnlimitedOCR"],
    labels: &[("unlimited_ocr", "Unlimited-OCR")],
    sizes: Sizes::of([1280, 6848], 12, 10, 129_280, 32_768).kv(10).head(128),
    experts: Some(Experts {
        width: 896,
        shared: 2,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Is(false),
        ..Experts::of(64, 6)
    }),
    modules: &Modules::GENERIC,
    not_looked_at: &["v_head_dim", "sliding_window_size"],
    window: Window::ListedOnly(128),
    ..super::llama::FAMILY
};
