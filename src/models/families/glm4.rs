//! `glm4` (transformers 5.23, `models/glm4`): four norms a block, half of each head rotated, gate and up in one matrix.

use crate::models::prelude::*;

/// `glm4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4"],
    class: "Glm4",
    labels: &[("glm4", "GLM-4")],
    family: Family::Glm4,
    sizes: Sizes::of([4096, 13_696], 40, 32, 151_552, 131_072).kv(2).head(128),
    rotary_percent: 50,
    attention_bias: Flag::Key("attention_bias", true),
    norms: Norms::Are(4),
    ..FamilySpec::PLAIN
};
