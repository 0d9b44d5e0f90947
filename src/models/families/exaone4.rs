//! `exaone4` (transformers 5.23, `models/exaone4`): normed queries and keys, a window in three of four layers.

use crate::models::prelude::*;

/// `exaone4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["exaone4"],
    class: "Exaone4",
    labels: &[("exaone4", "EXAONE 4")],
    sizes: Sizes::of([4096, 16_384], 32, 32, 102_400, 2048).kv(32),
    qk_norm: Flag::Is(true),
    window: Window::AllButEvery { period: 4, window: 4096 },
    ..FamilySpec::PLAIN
};
