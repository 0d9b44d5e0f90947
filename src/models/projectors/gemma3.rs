//! `gemma3` (transformers 5.23): pooled patches, normed, through a matrix.

use crate::models::tower_prelude::*;

/// `gemma3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["gemma3", "shieldgemma2"],
    tower: "siglip_vision_model",
    keys: &[stated(Pool, "mm_tokens_per_image", 256)],
    modules: &TowerModules {
        model_type: "gemma3",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("projection", Hidden, Text),
                RmsNorm(Hidden),
                Runs(&[Step::Pooled, Step::NormOnePlus(1), Step::Times(0), Step::Typed]),
            ],
        }],
        buffers: &[],
    },
    ties: &[("gemma3", Ties::OfWhole(true)), ("shieldgemma2", Ties::Either)],
    ..TowerSpec::PLAIN
};
