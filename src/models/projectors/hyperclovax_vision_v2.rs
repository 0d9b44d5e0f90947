//! `hyperclovax_vision_v2` (transformers 5.23): one matrix with a bias behind the tower's own
//! merger.

use crate::models::tower_prelude::*;

/// `hyperclovax_vision_v2`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["hyperclovax_vision_v2"],
    tower: "qwen2_5_vl_vision",
    modules: &TowerModules {
        model_type: "hyperclovax_vision_v2",
        parts: &[TowerPart { times: One, layers: &[Linear("projection", Out, Text)] }],
        buffers: &[],
    },
    ties: &[("hyperclovax_vision_v2", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
