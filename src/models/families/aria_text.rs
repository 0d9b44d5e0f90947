//! `aria_text`, the text part of `aria` (transformers 5.23, `models/aria`): llama's block with
//! experts beside shared ones.

use crate::models::prelude::*;

/// `aria_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["aria_text"],
    class: "AriaText",
    labels: &[("aria_text", "Aria")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([4096, 4096], 32, 32, 32_000, 2048),
    experts: Some(Experts { shared: 2, ..Experts::of(8, 2) }),
    ..super::llama::FAMILY
};
