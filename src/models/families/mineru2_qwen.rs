//! `mineru2_qwen` (code of its own on the hub, `opendatalab/MinerU2.0-2505-0.9B`): Qwen2 beside a
//! vision tower, which is left out.

use crate::models::prelude::*;

/// `mineru2_qwen`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mineru2_qwen"],
    class: "Mineru2Qwen",
    labels: &[("mineru2_qwen", "MinerU 2")],
    always_left_out: &["mm_vision_tower"],
    ..super::qwen2::FAMILY
};
