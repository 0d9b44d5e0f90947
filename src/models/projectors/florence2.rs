//! `florence2` (transformers 5.23): a matrix, a norm, and learned positions along height and width.

use crate::models::tower_prelude::*;

/// The width of the tower, and half of it.
const WIDTH: TowerSize = Own4;
const HALF: TowerSize = Own3;

/// `florence2`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["florence2"],
    tower: "florence_vision",
    modules: &TowerModules {
        model_type: "florence2",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("projection", WIDTH, Out),
                LayerNorm(Out),
                Table("positions along the height", Positions, HALF),
                Table("positions along the width", Positions, HALF),
            ],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
