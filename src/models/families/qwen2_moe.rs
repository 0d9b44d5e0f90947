//! `qwen2_moe` (transformers 5.23, `models/qwen2_moe`): Qwen2 with experts and a shared one that a
//! gate weighs.

use crate::models::prelude::*;

/// `qwen2_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen2_moe"],
    class: "Qwen2Moe",
    gguf: Some(Gguf::of_experts(
        "qwen2_moe",
        "qwen2moe",
        &[
            ("expert_count", "num_experts"),
            ("expert_used_count", "num_experts_per_tok"),
            ("expert_feed_forward_length", "moe_intermediate_size"),
            ("expert_shared_feed_forward_length", "shared_expert_intermediate_size"),
        ],
    )),
    attention_bias: Flag::Key("qkv_bias", true),
    modules: &Modules {
        model_type: "qwen2_moe",
        choice: FamilyChoice { rank: 53, word: "qwen2-moe", label: "Qwen2 MoE" },
        mask_for_each_kind: false,
        experts: ExpertModules { router_first: true, ..super::qwen2::FAMILY.modules.experts },
        shape: Some(ShapeRule { experts: ExpertsRule::Any, ..ShapeRule::PLAIN }),
        ..*super::qwen2::FAMILY.modules
    },
    sizes: Sizes::of([2048, 5632], 24, 16, 151_936, 32_768).kv(16),
    experts: Some(Experts {
        width: 1408,
        shared_width: 5632,
        shared_gate: true,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", false),
        ..Experts::of(60, 4)
    }),
    ..super::qwen2::FAMILY
};
