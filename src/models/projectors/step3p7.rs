//! `step3p7` (transformers 5.23): one matrix.

use crate::models::tower_prelude::*;

/// `step3p7`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["step3p7"],
    tower: "step3p5_vision",
    keys: &[flag(Biased, "projector_bias", false)],
    modules: &TowerModules {
        model_type: "step3p7",
        parts: &[
            TowerPart { times: One, layers: &[Matrix("projection", Out, Text)] },
            TowerPart { times: Biased, layers: &[Vector("projection bias", Text)] },
        ],
        buffers: &[],
    },
    ties: &[("step3p7", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};
