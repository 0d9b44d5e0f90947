//! `mamba2` (transformers 5.23, `models/mamba2`): a state for every head. It is served here, not trained.

use crate::models::prelude::*;

/// `mamba2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mamba2"],
    class: "Mamba2",
    not_looked_at: &["time_step_rank"],
    sizes: Sizes::of([4096, 1], 64, 128, 32_768, 4096).head(64),
    tied: false,
    states: Some(States::of(MixerKind::Mamba2, Attends::Never, [128, 64, 8, 128, 4])),
    ..super::mamba::FAMILY
};
