//! `mamba`, also `falcon_mamba` (transformers 5.23, `models/mamba`): a state for every channel, no attention and no feed-forward
//! layer, so that heads and inner width mean nothing. It is served here, not trained.

use crate::models::prelude::*;

/// `mamba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mamba", "falcon_mamba"],
    class: "Mamba",
    labels: &[("falcon_mamba", "Falcon Mamba")],
    sizes: Sizes::of([768, 1], 32, 1, 50_280, 4096),
    tied: true,
    states: Some(States::of(MixerKind::Mamba, Attends::Never, [0, 0, 0, 16, 4])),
    ..FamilySpec::PLAIN
};
