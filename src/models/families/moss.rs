//! `moss` (code of its own on the hub, `fnlp/moss-moon-003-base`): CodeGen's block.

use crate::models::prelude::*;

/// `moss`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["moss"],
    class: "Moss",
    labels: &[("moss", "MOSS")],
    sizes: Sizes::of([4096, 0], 28, 16, 107_008, 2048),
    ..super::gptj::FAMILY
};
