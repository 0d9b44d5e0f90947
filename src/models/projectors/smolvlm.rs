//! `smolvlm` (transformers 5.23): that of `idefics3`, whose output the model hands on as well.

use super::idefics3::TILES;
use crate::models::tower_prelude::*;

/// `smolvlm`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["smolvlm"],
    modules: &TowerModules {
        model_type: "smolvlm",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("projection", Merged, Text),
                Runs(&[
                    Step::Shuffled,
                    Step::Linear(0),
                    Step::Tiled(TileRule::Longest(TILES)),
                    Step::Listed,
                    Step::Is(Fact::Returned),
                ]),
            ],
        }],
        buffers: &[],
    },
    ties: &[("smolvlm", Ties::OfWhole(false))],
    ..super::idefics3::PROJECTOR
};
