//! `qwen3_omni_moe_text`, the text part of Qwen3-Omni's thinker (transformers 5.23): that of
//! Qwen3-VL MoE with other sizes.

use crate::models::prelude::*;

/// `qwen3_omni_moe_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_omni_moe_text"],
    class: "Qwen3OmniMoeThinkerText",
    labels: &[("qwen3_omni_moe", "Qwen3-Omni MoE")],
    modules: &Modules {
        model_type: "qwen3_omni_moe_text",
        choice: FamilyChoice { rank: 2106, word: "qwen3omnimoe", label: "Qwen3-Omni MoE" },
        rotary_tables: RotaryTables::OfGrids,
        measured: Modules::PLAIN.measured,
        slots_at_both_ends: false,
        ..*super::qwen3_moe::FAMILY.modules
    },
    sizes: Sizes::of([2048, 18_944], 28, 28, 3584, 32_768).kv(4),
    rounds_heads_down: true,
    window: Window::None,
    experts: Some(Experts {
        width: 768,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 8)
    }),
    ..super::qwen3_moe::FAMILY
};
