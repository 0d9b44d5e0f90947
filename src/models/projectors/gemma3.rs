//! `gemma3` (transformers 5.23): pooled patches, normed, through a matrix.

use crate::models::tower_prelude::*;

/// `gemma3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["gemma3", "shieldgemma2"],
    tower: "siglip_vision_model",
    modules: &TowerModules {
        model_type: "gemma3",
        parts: &[TowerPart { times: One, layers: &[Matrix("projection", Hidden, Text), RmsNorm(Hidden)] }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
