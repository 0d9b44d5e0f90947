//! `granitemoe_swa` (transformers 5.23, `models/granitemoe_swa`): Granite with experts, a window in three of four layers, and attention
//! sinks.

use crate::models::prelude::*;

/// `granitemoe_swa`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoe_swa"],
    class: "GraniteMoeSWA",
    labels: &[("granitemoe_swa", "Granite MoE SWA")],
    window: Window::Where { slides: |layer, _| !layer.is_multiple_of(4), window: 128 },
    sinks: true,
    ..super::granitemoeshared::FAMILY
};
