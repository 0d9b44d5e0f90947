//! `paddleocr_vl_text`, the text part of PaddleOCR-VL (transformers 5.23): ERNIE 4.5's sizes and
//! biases, with rotary tables of each sequence's own.

use crate::models::prelude::*;

/// `paddleocr_vl_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["paddleocr_vl_text"],
    class: "PaddleOCRText",
    labels: &[("paddleocr_vl", "PaddleOCR-VL")],
    modules: &Modules {
        model_type: "paddleocr_vl_text",
        choice: FamilyChoice { rank: 2100, word: "paddleocrvl", label: "PaddleOCR-VL" },
        hands_on_positions: false,
        rotary_tables: RotaryTables::OfGrids,
        ..Modules::PLAIN
    },
    ..super::ernie4_5::FAMILY
};
