//! `glm4` (transformers 5.23, `models/glm4`): four norms a block, half of each head rotated, gate
//! and up in one matrix.

use crate::models::prelude::*;

/// `glm4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4"],
    class: "Glm4",
    labels: &[("glm4", "GLM-4")],
    modules: &Modules {
        model_type: "glm4",
        choice: FamilyChoice { rank: 24, word: "glm4", label: "GLM-4" },
        block: BlockLayout::OwnOrder,
        feed_forward: FeedForwardStyle::JointGateAndUp,
        rotation: RotationStyle::RepeatedTables,
        tensor_plan: Some(TensorPlan { feed_forward: Division::Gathered, ..TensorPlan::PLAIN }),
        shape: Some(ShapeRule {
            mlp_bias: Some(false),
            norms_per_block: [4, 4],
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 13_696], 40, 32, 151_552, 131_072).kv(2).head(128),
    rotary_percent: 50.0,
    attention_bias: Flag::Key("attention_bias", true),
    norms: Norms::Are(4),
    ..FamilySpec::PLAIN
};
