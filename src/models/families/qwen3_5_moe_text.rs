//! `qwen3_5_moe_text`, the text part of `qwen3_5_moe` (transformers 5.23, `models/qwen3_5_moe`):
//! Qwen3-Next with other sizes of experts.

use crate::models::prelude::*;

/// `qwen3_5_moe_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_5_moe_text", "qwen3_5_moe"],
    class: "Qwen3_5Moe",
    modules: &Modules {
        model_type: "qwen3_5_moe_text",
        choice: FamilyChoice { rank: 603, word: "qwen3-5-moe", label: "Qwen3.5 MoE" },
        state_projections: StateProjections::Apart,
        rotary_tables: RotaryTables::OfGrids,
        peft_finds_experts: false,
        ..*super::qwen3_next::FAMILY.modules
    },
    sizes: Sizes::of([2048, 0], 40, 16, 248_320, 32_768).kv(2).head(256),
    experts: Some(Experts {
        width: 512,
        shared_width: 512,
        shared_gate: true,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 8)
    }),
    ..super::qwen3_next::FAMILY
};
