//! `smollm3` (transformers 5.23, `models/smollm3`): llama in other sizes, some layers without rotation.

use crate::models::prelude::*;

/// `smollm3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["smollm3"],
    class: "SmolLM3",
    labels: &[("smollm3", "SmolLM3")],

    sizes: Sizes::of([2048, 11_008], 36, 16, 128_256, 32_768).kv(4),
    tied: true,
    window: Window::FromIfUsed,
    ..super::llama::FAMILY
};
