//! `granitemoeshared` (transformers 5.23, `models/granitemoeshared`): Granite with experts, and a shared one where the file
//! states its width.

use crate::models::prelude::*;

/// `granitemoeshared`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoeshared"],
    class: "GraniteMoeShared",
    labels: &[("granitemoeshared", "Granite MoE")],
    family: Family::Generic,
    mlp_bias: Flag::Is(false),
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts { may_share: true, ..Experts::of(8, 2) }),
    ..super::granite::FAMILY
};
