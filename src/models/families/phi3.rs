//! `phi3` (transformers 5.23, `models/phi3`): llama's block with joint projections for queries, keys and values and for gate and
//! up.

use crate::models::prelude::*;

/// `phi3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi3"],
    class: "Phi3",
    labels: &[("phi3", "Phi-3")],
    family: Family::Phi3,
    sizes: Sizes::of([3072, 8192], 32, 32, 32_064, 4096),
    window: Window::All(0),
    ..FamilySpec::PLAIN
};
