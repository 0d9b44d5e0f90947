//! `camembert` (transformers 5.23, `models/camembert`): RoBERTa's modules with defaults of its own.

use crate::models::prelude::*;

/// `camembert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["camembert"],
    class: "Camembert",
    labels: &[("camembert", "CamemBERT")],
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    ..super::roberta::FAMILY
};
