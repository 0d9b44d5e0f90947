//! `qwen3_5_text`, the text part of `qwen3_5` (transformers 5.23, `models/qwen3_5`): Qwen3-Next
//! without experts.

use crate::models::prelude::*;

/// `qwen3_5_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_5_text", "qwen3_5"],
    class: "Qwen3_5",
    modules: &Modules {
        model_type: "qwen3_5_text",
        choice: FamilyChoice { rank: 602, word: "qwen3-5", label: "Qwen3.5" },
        state_projections: StateProjections::Apart,
        rotary_tables: RotaryTables::OfGrids,
        shape: Some(ShapeRule {
            states: &[MixerKind::Qwen3Next],
            gates_attention: true,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: false,
        ..*super::qwen3_next::FAMILY.modules
    },
    sizes: Sizes::of([4096, 12_288], 32, 16, 248_320, 32_768).kv(4).head(256),
    experts: None,
    ..super::qwen3_next::FAMILY
};
