//! `phi-msft` (code of its own on the hub, `microsoft/phi-1_5` of 2023): Phi under older names of
//! its sizes, with one matrix for queries, keys and values.

use crate::models::prelude::*;

/// `phi_msft`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phi-msft"],
    class: "PhiMsft",
    saved_with: &["Phi"],
    labels: &[("phi-msft", "Phi (2023)")],
    modules: &Modules::GENERIC,
    older_names: true,
    inner: InnerWidth::Stated(&["intermediate_size", "n_inner"]),
    sizes: Sizes::of([1024, 0], 20, 16, 50_304, 2048),
    qk_norm: Flag::Is(false),
    ..super::phi::FAMILY
};
