//! `granitemoe` (transformers 5.23, `models/granitemoe`): Granite with experts in every layer.

use crate::models::prelude::*;

/// `granitemoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoe"],
    class: "GraniteMoe",
    labels: &[("granitemoe", "Granite MoE")],
    modules: &Modules {
        model_type: "granitemoe",
        choice: FamilyChoice { rank: 43, word: "granite-moe", label: "Granite MoE" },
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
    experts: Some(Experts::of(8, 2)),
    ..super::granite::FAMILY
};
