//! `vipllava` (transformers 5.23): five of the tower's layers side by side, normed, through two
//! matrices.

use crate::models::tower_prelude::*;

/// `vipllava`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["vipllava"],
    tower: "clip_vision_model",
    keys: &[TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(5) }],
    follow: super::llava::follow,
    modules: &TowerModules {
        model_type: "vipllava",
        parts: &[TowerPart {
            times: One,
            layers: &[
                LayerNorm(Wide),
                Linear("projection", Wide, Text),
                Linear("second projection", Text, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("vipllava", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};
