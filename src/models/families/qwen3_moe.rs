//! `qwen3_moe` (transformers 5.23, `models/qwen3_moe`): Qwen3 with experts.

use crate::models::prelude::*;

/// `qwen3_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_moe"],
    class: "Qwen3Moe",
    gguf: Some(Gguf::of_experts(
        "qwen3_moe",
        "qwen3moe",
        &[
            ("expert_count", "num_experts"),
            ("expert_used_count", "num_experts_per_tok"),
            ("expert_feed_forward_length", "moe_intermediate_size"),
        ],
    )),
    modules: &Modules {
        model_type: "qwen3_moe",
        choice: FamilyChoice { rank: 15, word: "qwen3-moe", label: "Qwen3 MoE" },
        mask_for_each_kind: false,
        shape: Some(ShapeRule { experts: ExpertsRule::Always, ..ShapeRule::PLAIN }),
        peft_finds_experts: true,
        ..*super::qwen3::FAMILY.modules
    },
    sizes: Sizes::of([2048, 6144], 24, 32, 151_936, 32_768).kv(4),
    window: Window::AllIfUsed,
    experts: Some(Experts {
        width: 768,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", false),
        ..Experts::of(128, 8)
    }),
    ..super::qwen3::FAMILY
};
