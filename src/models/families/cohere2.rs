//! `cohere2` (transformers 5.23, `models/cohere2`): Cohere with a window in three of four layers.

use crate::models::prelude::*;

/// `cohere2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cohere2"],
    class: "Cohere2",
    modules: &Modules {
        model_type: "cohere2",
        choice: FamilyChoice { rank: 183, word: "cohere2", label: "Cohere 2" },
        rotated: RotatedLayers::Sliding,
        ..*super::cohere::FAMILY.modules
    },
    labels: &[("cohere2", "Command R7B")],
    sizes: Sizes::of([8192, 22_528], 40, 64, 256_000, 8192),
    window: Window::AllButEvery { period: 4, window: 4096 },
    ..super::cohere::FAMILY
};
