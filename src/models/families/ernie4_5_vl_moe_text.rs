//! `ernie4_5_vl_moe_text`, the text part of ERNIE 4.5 VL (transformers 5.23): ERNIE 4.5's block
//! with experts for texts; those for images stand beside them and belong to the projector.

use crate::models::prelude::*;

/// `ernie4_5_vl_moe_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ernie4_5_vl_moe_text"],
    class: "Ernie4_5_VLMoeText",
    modules: &Modules { peft_finds_experts: false, ..*super::ernie4_5_moe::FAMILY.modules },
    labels: &[("ernie4_5_vl_moe", "ERNIE 4.5 VL")],
    sizes: Sizes::of([2560, 12_288], 28, 20, 103_424, 131_072).kv(4),
    head_bias: Flag::Is(false),
    experts: Some(Experts {
        width: 1536,
        shared: 2,
        first_dense: 1,
        first_of_two: true,
        chosen_by: &["mlp_layer_types"],
        ..Experts::of(64, 6)
    }),
    ..super::ernie4_5_moe::FAMILY
};
