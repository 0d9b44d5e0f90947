//! MiniCPM with experts (code of its own on the hub, `openbmb/MiniCPM-MoE-8x2B`), whose files go by
//! the name of the one without: mixtral's experts in every layer.

use crate::models::prelude::*;

/// `minicpm` with `num_experts`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minicpm-moe"],
    class: "MiniCPMMoE",
    saved_with: &["MiniCPM"],
    experts: Some(Experts::of(8, 2)),
    only: &[],
    instead: &[],
    ..super::minicpm::FAMILY
};
