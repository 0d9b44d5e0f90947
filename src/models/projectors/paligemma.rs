//! `paligemma` (transformers 5.23): one matrix with a bias.

use crate::models::tower_prelude::*;

/// `paligemma`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["paligemma"],
    tower: "siglip_vision_model",
    keys: &[stated(Out, "projection_dim", 2048)],
    modules: &TowerModules {
        model_type: "paligemma",
        parts: &[TowerPart {
            times: One,
            layers: &[Linear("projection", Hidden, Out), Runs(&[Step::Linear(0), Step::Typed])],
        }],
        buffers: &[],
    },
    ties: &[("paligemma", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
