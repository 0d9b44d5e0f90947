//! `qwen2_vl_text` and `qwen2_5_vl_text`, the text parts of Qwen2-VL and Qwen2.5-VL (transformers
//! 5.23): Qwen2's block, with rotary tables of each sequence's own.

use crate::models::prelude::*;

/// `qwen2_vl_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen2_vl_text", "qwen2_vl", "qwen2_5_vl_text", "qwen2_5_vl"],
    class: "Qwen2VL",
    saved_with: &["Qwen2", "Qwen2_5_VL"],
    labels: &[("qwen2_5_vl", "Qwen2.5-VL"), ("qwen2_vl", "Qwen2-VL")],
    modules: &Modules {
        model_type: "qwen2_vl_text",
        choice: FamilyChoice { rank: 131, word: "qwen2vl", label: "Qwen2-VL" },
        hands_on_positions: false,
        rotary_tables: RotaryTables::OfGrids,
        ..*super::qwen2::FAMILY.modules
    },
    sizes: Sizes::of([8192, 29_568], 80, 64, 152_064, 32_768).kv(8),
    ..super::qwen2::FAMILY
};
