//! `plbart` (transformers 5.23, `models/plbart`): BART's modules in a smaller size.

use crate::models::prelude::*;

/// `plbart`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["plbart"],
    class: "PLBart",
    labels: &[("plbart", "PLBART")],
    modules: &Modules {
        model_type: "plbart",
        choice: FamilyChoice { rank: 142, word: "plbart", label: "PLBART" },
        ..*super::bart::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 6, 12, 50_005, 1024),
    source: Some(SourceKeys::encoder(6, 12, 3072).or_absent()),
    ..super::bart::FAMILY
};
