//! `qwen3_vl_moe_text`, the text part of Qwen3-VL MoE (transformers 5.23): Qwen3 with experts, and rotary tables of each sequence's own.

use crate::models::prelude::*;

/// `qwen3_vl_moe_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_vl_moe_text", "qwen3_vl_moe"],
    class: "Qwen3VLMoe",
    saved_with: &["Qwen3Moe"],
    labels: &[("qwen3_vl_moe", "Qwen3-VL MoE")],
    modules: &Modules {
        model_type: "qwen3_vl_moe_text",
        choice: FamilyChoice { rank: 133, word: "qwen3vlmoe", label: "Qwen3-VL MoE" },
        rotary_tables: RotaryTables::OfGrids,
        measured: Modules::PLAIN.measured,
        ..*super::qwen3_moe::FAMILY.modules
    },
    ..super::qwen3_moe::FAMILY
};
