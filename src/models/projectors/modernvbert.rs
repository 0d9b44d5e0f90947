//! `modernvbert` (transformers 5.23): shuffled patches through one matrix.

use crate::models::tower_prelude::*;

/// `modernvbert`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["modernvbert"],
    tower: "siglip_vision_model",
    keys: &[stated(Merge, "pixel_shuffle_factor", 4)],
    follow: patches,
    modules: &TowerModules {
        model_type: "modernvbert",
        parts: &[TowerPart { times: One, layers: &[Matrix("projection", Merged, Text)] }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
