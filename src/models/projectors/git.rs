//! `git` (transformers 5.23): a matrix with a bias, and a norm.

use crate::models::tower_prelude::*;

/// `git`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["git"],
    tower: "git_vision_model",
    modules: &TowerModules {
        model_type: "git",
        parts: &[TowerPart {
            times: One,
            layers: &[Linear("projection", Hidden, Text), LayerNorm(Text)],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
