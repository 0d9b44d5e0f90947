//! `granitemoehybrid` (transformers 5.23, `models/granitemoehybrid`), Granite 4: Bamba's layers
//! with experts and a shared one.

use crate::models::prelude::*;

/// `granitemoehybrid`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoehybrid"],
    class: "GraniteMoeHybrid",
    modules: &Modules {
        model_type: "granitemoehybrid",
        choice: FamilyChoice { rank: 605, word: "granite4", label: "Granite 4" },
        feed_forward: FeedForwardStyle::JointGateAndUp,
        experts: ExpertModules::OF_PICKED_IN_FP32,
        hands_on_positions: false,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            states: &[MixerKind::Mamba2],
            ..ShapeRule::PLAIN
        }),
        ..*super::granite::FAMILY.modules
    },
    positions: Positions::RotaryIfNamed,
    rotary_percent: 100.0,
    labels: &[("granitemoehybrid", "Granite 4")],
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048).kv(32),
    mlp_bias: Flag::Is(false),
    experts: Some(Experts { shared_width: 1024, ..Experts::of(8, 2) }),
    ..super::bamba::FAMILY
};
