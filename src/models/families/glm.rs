//! `glm` (transformers 5.23, `models/glm`): GLM-4's shape with two norms a block.

use crate::models::prelude::*;

/// `glm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm"],
    class: "Glm",
    labels: &[("glm", "GLM")],
    family: Family::Generic,
    norms: Norms::Are(2),
    ..super::glm4::FAMILY
};
