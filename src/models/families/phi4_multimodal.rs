//! `phi4_multimodal` (transformers 5.23, `models/phi4_multimodal`), Phi-4-multimodal: phi3's block,
//! with parts for images and sound in the same model.

use crate::models::prelude::*;

/// `phi4_multimodal`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi4_multimodal"],
    class: "Phi4Multimodal",
    labels: &[("phi4_multimodal", "Phi-4-multimodal")],
    gguf: None,
    sizes: Sizes::of([3072, 8192], 32, 32, 200_064, 131_072).kv(8),
    ..super::phi3::FAMILY
};
