//! `granitemoe` (transformers 5.23, `models/granitemoe`): Granite with experts in every layer.

use crate::models::prelude::*;

/// `granitemoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoe"],
    class: "GraniteMoe",
    labels: &[("granitemoe", "Granite MoE")],
    family: Family::Generic,
    mlp_bias: Flag::Is(false),
    experts: Some(Experts::of(8, 2)),
    ..super::granite::FAMILY
};
