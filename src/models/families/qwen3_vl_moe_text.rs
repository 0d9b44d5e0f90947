//! `qwen3_vl_moe_text`, the text part of Qwen3-VL MoE (transformers 5.23): Qwen3 with experts, and
//! rotary tables of each sequence's own.

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
        mask_for_each_kind: false,
        shape: Some(ShapeRule { experts: ExpertsRule::Always, ..ShapeRule::PLAIN }),
        slots_at_both_ends: false,
        ..*super::qwen3::FAMILY.modules
    },
    sizes: Sizes::of([2048, 5632], 24, 16, 151_936, 128_000).kv(16),
    // Its router weighs the picked experts to a sum of one, whatever the file says.
    experts: Some(Experts { width: 1408, chosen_by: BY_STEP, ..Experts::of(60, 4) }),
    window: Window::AllIfUsed,
    ..super::qwen3::FAMILY
};
