//! `exaone` (code of its own on the hub, `LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct`): llama's layers
//! under names of their own.

use crate::models::prelude::*;

/// `exaone`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["exaone"],
    class: "Exaone",
    labels: &[("exaone", "EXAONE 3")],
    older_names: true,
    sizes: Sizes::of([4096, 16_384], 32, 32, 102_400, 2048),
    ..FamilySpec::PLAIN
};
