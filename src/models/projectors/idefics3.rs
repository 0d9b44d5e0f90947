//! `idefics3` (transformers 5.23): shuffled patches through one matrix.

use crate::models::tower_prelude::*;

/// Tiles along the longer side of an image (`size` of `Idefics3ImageProcessor`, in sides of the
/// tower's images).
pub const TILES: u64 = 4;

/// `idefics3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["idefics3"],
    tower: "idefics3_vision",
    keys: &[stated(Merge, "scale_factor", 2)],
    follow: patches,
    modules: &TowerModules {
        model_type: "idefics3",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("projection", Merged, Text),
                Runs(&[
                    Step::Shuffled,
                    Step::Linear(0),
                    Step::Tiled(TileRule::Longest(TILES)),
                    Step::Listed,
                ]),
            ],
        }],
        buffers: &[],
    },
    ties: &[("idefics3", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};
