//! `llama4` (transformers 5.23): one matrix.

use crate::models::tower_prelude::*;

/// `llama4`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["llama4"],
    tower: "llama4_vision_model",
    modules: &TowerModules {
        model_type: "llama4",
        parts: &[TowerPart { times: One, layers: &[Matrix("projection", Out, Text)] }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
