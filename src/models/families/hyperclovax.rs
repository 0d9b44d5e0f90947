//! `hyperclovax` (transformers 5.23, `models/hyperclovax`): Granite with a norm behind each half,
//! too.

use crate::models::prelude::*;

/// `hyperclovax`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hyperclovax"],
    class: "HyperCLOVAX",
    labels: &[("hyperclovax", "HyperCLOVA X")],
    modules: &Modules {
        model_type: "hyperclovax",
        choice: FamilyChoice { rank: 37, word: "hyperclovax", label: "HyperCLOVA X" },
        shape: Some(ShapeRule { norms_per_block: [2, 4], ..ShapeRule::PLAIN }),
        slots_at_both_ends: false,
        ..*super::granite::FAMILY.modules
    },
    norms: Norms::FourUnless("use_post_norm"),
    ..super::granite::FAMILY
};
