//! `llava_next` and its relatives (transformers 5.23): that of `llava`, over tiles, and a vector
//! that ends a row of patches.

use super::llava::{BIASES, MATRICES};
use crate::models::tower_prelude::*;

/// Resolutions that images are cut into.
pub const GRIDS: TowerSize = Own1;

/// The place of a resolution of so many rows and columns of tiles.
pub const fn place([rows, columns]: [u64; 2]) -> u64 {
    (rows - 1) * GRID + columns - 1
}

/// `llava_next`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["llava_next", "llava_next_video"],
    keys: &[
        TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(1) },
        flag(Biased, "multimodal_projector_bias", true),
        maybe(Behind, "vision_feature_layer_behind", 1),
        TowerKey {
            size: Cut,
            key: "vision_feature_select_strategy",
            default: TowerDefault::Word("default"),
        },
        function(OutAct, "projector_hidden_act", HiddenAct::Gelu),
        places(
            GRIDS,
            "image_grid_pinpoints_in_tiles",
            [place([1, 2]), place([2, 1]), place([2, 2]), place([3, 1]), place([1, 3])],
        ),
    ],
    modules: &TowerModules {
        model_type: "llava_next",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("end of a row", Text),
                    MATRICES.layers[0],
                    MATRICES.layers[1],
                    Runs(&[
                        Step::Is(Fact::PixelsJoined),
                        Step::OfBlock,
                        Step::WithoutFirst,
                        Step::BiasedBehind(1, 0),
                        Step::Function,
                        Step::BiasedBehind(2, 1),
                        Step::Spread { end: 0, grids: GRIDS, most: 0, alone: false },
                    ]),
                ],
            },
            BIASES,
        ],
        buffers: &[],
    },
    ties: &[("llava_next", Ties::OfWhole(false)), ("llava_next_video", Ties::Either)],
    ..super::llava::PROJECTOR
};
