//! `granitemoeshared` (transformers 5.23, `models/granitemoeshared`): Granite with experts, and a
//! shared one where the file states its width.

use crate::models::prelude::*;

/// `granitemoeshared`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoeshared"],
    class: "GraniteMoeShared",
    labels: &[("granitemoeshared", "Granite MoE")],
    modules: &Modules {
        model_type: "granitemoeshared",
        choice: FamilyChoice {
            rank: 44,
            word: "granite-moe-shared",
            label: "Granite MoE with shared experts",
        },
        feed_forward: FeedForwardStyle::JointGateAndUp,
        experts: ExpertModules::OF_PICKED_IN_FP32,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            ..ShapeRule::PLAIN
        }),
        ..*super::granite::FAMILY.modules
    },
    mlp_bias: Flag::Is(false),
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts { may_share: true, ..Experts::of(8, 2) }),
    ..super::granite::FAMILY
};
