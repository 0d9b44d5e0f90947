//! `mixtral` (transformers 5.23, `models/mixtral`): Mistral with experts in every layer.

use crate::models::prelude::*;

/// `mixtral`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mixtral"],
    class: "Mixtral",
    family: Family::Mixtral,
    window: Window::All(0),
    experts: Some(Experts::of(8, 2)),
    ..super::mistral::FAMILY
};
