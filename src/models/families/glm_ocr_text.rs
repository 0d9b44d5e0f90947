//! `glm_ocr_text`, the text part of GLM-OCR (transformers 5.23): GLM-4's block without biases.

use crate::models::prelude::*;

/// `glm_ocr_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm_ocr_text"],
    class: "GlmOcrText",
    labels: &[("glm_ocr", "GLM-OCR")],
    modules: &Modules {
        model_type: "glm_ocr_text",
        choice: FamilyChoice { rank: 2101, word: "glmocr", label: "GLM-OCR" },
        hands_on_positions: false,
        rotation: RotationStyle::Joined,
        rotary_tables: RotaryTables::OfGrids,
        ..*super::glm4::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 16, 16, 59_392, 131_072).kv(8),
    rotary_percent: 100.0,
    attention_bias: Flag::Is(false),
    ..super::glm4::FAMILY
};
