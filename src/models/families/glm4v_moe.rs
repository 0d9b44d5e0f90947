//! `glm4v_moe` (transformers 5.23, `models/glm4v_moe`), the text part of GLM-4.5V: GLM-4.5 without
//! normed queries and keys.

use crate::models::prelude::*;

/// `glm4v_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4v_moe", "glm4v_moe_text"],
    class: "Glm4vMoe",
    labels: &[("glm4v_moe", "GLM-4.5V")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([4096, 10_944], 46, 96, 151_424, 65_536).kv(8),
    attention_bias: Flag::Key("attention_bias", true),
    qk_norm: Flag::Is(false),
    ..super::glm4_moe::FAMILY
};
