//! `gemma4_unified_text`, the text part of `gemma4_unified` (transformers 5.23,
//! `models/gemma4_unified`): Gemma 4 without experts, with a wider window.

use crate::models::prelude::*;

/// `gemma4_unified_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma4_unified_text", "gemma4_unified"],
    class: "Gemma4Unified",
    embeds_each_layer: false,
    sizes: Sizes::of([2304, 9216], 30, 8, 262_144, 262_144).kv(4).head(256),
    window: Window::AllButEveryAndLast { period: 6, window: 1024 },
    experts: None,
    ..super::gemma4_text::FAMILY
};
