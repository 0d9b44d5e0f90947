//! `stablelm_epoch` (code of its own on the hub, `stabilityai/stablelm-3b-4e1t` of 2023): StableLM
//! before transformers had it.

use crate::models::prelude::*;

/// `stablelm_epoch`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["stablelm_epoch"],
    class: "StableLMEpoch",
    saved_with: &["StableLm"],
    labels: &[("stablelm_epoch", "StableLM (2023)")],
    sizes: Sizes::of([2560, 6912], 32, 32, 50_304, 4096),
    qk_norm: Flag::Is(false),
    parallel: Flag::Is(false),
    ..super::stablelm::FAMILY
};
