//! `exaone4` (transformers 5.23, `models/exaone4`): normed queries and keys, a window in three of
//! four layers.

use crate::models::prelude::*;

/// `exaone4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["exaone4"],
    class: "Exaone4",
    labels: &[("exaone4", "EXAONE 4")],
    modules: &Modules {
        model_type: "exaone4",
        choice: FamilyChoice { rank: 46, word: "exaone4", label: "EXAONE 4" },
        rotated: RotatedLayers::Sliding,
        block: BlockLayout::NormsBehind,
        query_key_norm: QueryKeyNorm::AfterTransposing,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 16_384], 32, 32, 102_400, 2048).kv(32),
    qk_norm: Flag::Is(true),
    window: Window::AllButEvery { period: 4, window: 4096 },
    ..FamilySpec::PLAIN
};
