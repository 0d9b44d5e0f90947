//! `qwen2_moe` (transformers 5.23, `models/qwen2_moe`): Qwen2 with experts and a shared one that a gate weighs.

use crate::models::prelude::*;

/// `qwen2_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen2_moe"],
    class: "Qwen2Moe",
    attention_bias: Flag::Key("qkv_bias", true),
    family: Family::Generic,
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
