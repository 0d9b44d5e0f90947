//! `logics` (code of its own on the hub, `Logics-MLLM/Logics-Thinking`): Qwen3 beside a vision
//! tower, which is left out.

use crate::models::prelude::*;

/// `logics`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["logics"],
    class: "Logics",
    saved_with: &["LogicsForConditionalGeneration"],
    labels: &[("logics", "Logics")],
    always_left_out: &["mm_vision_tower"],
    ..super::qwen3::FAMILY
};
