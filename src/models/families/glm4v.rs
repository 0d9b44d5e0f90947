//! `glm4v` (transformers 5.23, `models/glm4v`), the text part of GLM-4.1V: GLM-4 with a bias on
//! queries, keys and values.

use crate::models::prelude::*;

/// `glm4v`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4v", "glm4v_text"],
    class: "Glm4v",
    labels: &[("glm4v", "GLM-4.1V")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([4096, 13_696], 40, 32, 151_552, 32_768).kv(2),
    attention_bias: Flag::Is(true),
    ..super::glm4::FAMILY
};
