//! `granite_docling_text`, the text part of Granite Docling (transformers 5.23): Granite's block
//! with other sizes.

use crate::models::prelude::*;

/// `granite_docling_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granite_docling_text"],
    class: "GraniteDoclingText",
    labels: &[("granite_docling", "Granite Docling")],
    sizes: Sizes::of([1024, 2048], 28, 16, 133_800, 32_768).kv(4),
    tied: true,
    ..super::granite::FAMILY
};
