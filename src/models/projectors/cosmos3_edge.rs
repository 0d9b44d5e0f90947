//! `cosmos3_edge` (transformers 5.23): a norm over patches, which are merged and go through two
//! matrices.

use crate::models::tower_prelude::*;

/// `cosmos3_edge`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["cosmos3_edge"],
    tower: "cosmos3_edge_vision",
    keys: &[stated(Wide, "projector_hidden_size", 11_520)],
    modules: &TowerModules {
        model_type: "cosmos3_edge",
        parts: &[TowerPart {
            times: One,
            layers: &[
                LayerNorm(Hidden),
                Linear("projection", Merged, Wide),
                Linear("second projection", Wide, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("cosmos3_edge", Ties::Never)],
    ..TowerSpec::PLAIN
};
