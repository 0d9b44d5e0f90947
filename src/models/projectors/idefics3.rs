//! `idefics3` and `smolvlm` (transformers 5.23): shuffled patches through one matrix.

use crate::models::tower_prelude::*;

/// `idefics3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["idefics3", "smolvlm"],
    tower: "idefics3_vision",
    keys: &[stated(Merge, "scale_factor", 2)],
    follow: patches,
    modules: &TowerModules {
        model_type: "idefics3",
        parts: &[TowerPart { times: One, layers: &[Matrix("projection", Merged, Text)] }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
