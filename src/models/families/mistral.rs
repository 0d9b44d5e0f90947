//! `mistral` (transformers 5.23, `models/mistral`): llama's block without biases, every layer with a window.

use crate::models::prelude::*;

/// `mistral`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mistral"],
    class: "Mistral",
    family: Family::Mistral,
    sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
    window: Window::All(4096),
    ..FamilySpec::PLAIN
};
