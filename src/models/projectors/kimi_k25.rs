//! `kimi_k25` (transformers 5.23): normed patches, merged, through two matrices.

use crate::models::tower_prelude::*;

/// `kimi_k25`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["kimi_k25"],
    tower: "kimi_k25_vision",
    keys: &[stated(Further, "projection_hidden_size", 1152)],
    modules: &TowerModules {
        model_type: "kimi_k25",
        parts: &[TowerPart {
            times: One,
            layers: &[
                LayerNorm(Further),
                Linear("projection", Merged, Merged),
                Linear("second projection", Merged, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("kimi_k25", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
