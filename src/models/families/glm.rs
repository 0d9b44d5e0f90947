//! `glm` (transformers 5.23, `models/glm`): GLM-4's shape with two norms a block.

use crate::models::prelude::*;

/// `glm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm"],
    class: "Glm",
    labels: &[("glm", "GLM")],
    modules: &Modules {
        model_type: "glm",
        choice: FamilyChoice { rank: 49, word: "glm", label: "GLM" },
        shape: Some(ShapeRule { mlp_bias: Some(false), ..ShapeRule::PLAIN }),
        ..*super::glm4::FAMILY.modules
    },
    norms: Norms::Are(2),
    ..super::glm4::FAMILY
};
