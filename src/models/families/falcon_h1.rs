//! `falcon_h1` (transformers 5.23, `models/falcon_h1`): every layer has attention beside a state. It is served here, not
//! trained.

use crate::models::prelude::*;

/// `falcon_h1`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["falcon_h1"],
    class: "FalconH1",
    labels: &[("falcon_h1", "Falcon-H1")],
    sizes: Sizes::of([4096, 14_336], 32, 32, 128_000, 8192).kv(8),
    states: Some(States { prefix: "mamba_", ..States::of(MixerKind::FalconH1, Attends::Beside, [128, 0, 1, 256, 4]) }),
    ..super::bamba::FAMILY
};
