//! `evolla` (transformers 5.23): llama's block; what reads proteins, and the layers that attend to
//! them, stand in its projector.

use crate::models::prelude::*;

/// `evolla`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["evolla"],
    class: "Evolla",
    labels: &[("evolla", "Evolla")],
    sizes: Sizes::of([4096, 14_336], 32, 32, 128_256, 8192).kv(8),
    // Its class names no weights to tie.
    ties: Ties::Never,
    ..super::llama::FAMILY
};
