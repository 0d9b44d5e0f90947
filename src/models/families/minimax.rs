//! `minimax` (transformers 5.23, `models/minimax`), also MiniMax-Text-01 and MiniMax-M1: every second layer has lightning
//! attention. It is served here, not trained.

use crate::models::prelude::*;

/// `minimax`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minimax", "minimax_text_01", "minimax_m1"],
    class: "MiniMax",
    labels: &[("minimax", "MiniMax"), ("minimax_m1", "MiniMax-M1")],
    // Tokens of a step of lightning attention.
    not_looked_at: &["block_size"],
    sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
    experts: Some(Experts::of(8, 2)),
    states: Some(States::of(MixerKind::Minimax, Attends::Alternate, [0; 5])),
    ..FamilySpec::PLAIN
};
