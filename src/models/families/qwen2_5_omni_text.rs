//! `qwen2_5_omni_text`, the text part of Qwen2.5-Omni's thinker (transformers 5.23): that of
//! Qwen2.5-VL with other sizes.

use crate::models::prelude::*;

/// `qwen2_5_omni_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen2_5_omni_text"],
    class: "Qwen2_5OmniThinkerText",
    labels: &[("qwen2_5_omni", "Qwen2.5-Omni")],
    sizes: Sizes::of([3584, 18_944], 28, 28, 152_064, 32_768).kv(4),
    ..super::qwen2_vl_text::FAMILY
};
