//! `deepseek_vl` (transformers 5.23): two matrices with biases.

use crate::models::tower_prelude::*;

/// `deepseek_vl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["deepseek_vl"],
    tower: "siglip_vision_model",
    modules: &TowerModules { model_type: "deepseek_vl", parts: &[TWO], buffers: &[] },
    ties: &[("deepseek_vl", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

/// Two matrices with biases.
pub const TWO: TowerPart = TowerPart {
    times: One,
    layers: &[Linear("projection", Hidden, Text), Linear("second projection", Text, Text)],
};
