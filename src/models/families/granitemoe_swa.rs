//! `granitemoe_swa` (transformers 5.23, `models/granitemoe_swa`): Granite with experts, a window in
//! three of four layers, and attention sinks.

use crate::models::prelude::*;

/// `granitemoe_swa`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoe_swa"],
    class: "GraniteMoeSWA",
    labels: &[("granitemoe_swa", "Granite MoE SWA")],
    modules: &Modules {
        model_type: "granitemoe_swa",
        choice: FamilyChoice { rank: 45, word: "granite-moe-swa", label: "Granite MoE SWA" },
        feed_forward: FeedForwardStyle::JointGateAndUp,
        experts: ExpertModules::OF_PICKED_IN_FP32,
        sinks: SinkStyle::OutputScale,
        registers_spare_frequencies: true,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            sinks: true,
            ..ShapeRule::PLAIN
        }),
        ..*super::granite::FAMILY.modules
    },
    not_looked_at: &["layer_rope_theta"],
    window: Window::Where { slides: |layer, _| !layer.is_multiple_of(4), window: 128 },
    sinks: true,
    mlp_bias: Flag::Is(false),
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts { may_share: true, ..Experts::of(8, 2) }),
    ..super::granite::FAMILY
};
