//! `qwen3_vl_text`, the text part of Qwen3-VL (transformers 5.23): Qwen3's block, with rotary
//! tables of each sequence's own.

use crate::models::prelude::*;

/// `qwen3_vl_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_vl_text", "qwen3_vl"],
    class: "Qwen3VL",
    saved_with: &["Qwen3"],
    labels: &[("qwen3_vl", "Qwen3-VL")],
    modules: &Modules {
        model_type: "qwen3_vl_text",
        choice: FamilyChoice { rank: 132, word: "qwen3vl", label: "Qwen3-VL" },
        measured: Modules::PLAIN.measured,
        rotary_tables: RotaryTables::OfGrids,
        slots_at_both_ends: false,
        ..*super::qwen3::FAMILY.modules
    },
    ..super::qwen3::FAMILY
};
