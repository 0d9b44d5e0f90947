//! `llava_onevision` (transformers 5.23): that of `llava_next`, over `SigLIP`, with more
//! resolutions.

use super::llava::{BIASES, MATRICES};
use super::llava_next::GRIDS;
use crate::models::tower_prelude::*;

/// Tiles along a side of the largest resolution.
const MOST: u64 = 6;

/// `llava_onevision`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["llava_onevision"],
    tower: "siglip_vision_model",
    keys: &[
        TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(1) },
        flag(Biased, "multimodal_projector_bias", true),
        maybe(Behind, "vision_feature_layer_behind", 0),
        TowerKey {
            size: Cut,
            key: "vision_feature_select_strategy",
            default: TowerDefault::OnlyWord("default"),
        },
        function(OutAct, "projector_hidden_act", HiddenAct::Gelu),
        TowerKey {
            size: GRIDS,
            key: "image_grid_pinpoints_in_tiles",
            default: TowerDefault::Places(square()),
        },
    ],
    modules: &TowerModules {
        model_type: "llava_onevision",
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
                        Step::Spread { end: 0, grids: GRIDS, most: SHOWN, alone: true },
                    ]),
                ],
            },
            BIASES,
        ],
        buffers: &[],
    },
    ties: &[("llava_onevision", Ties::Either)],
    ..super::llava::PROJECTOR
};

/// Tiles whose patches are shown at most (`vision_aspect_ratio` is `anyres_max_9`).
const SHOWN: u64 = 9;

/// All resolutions of so many tiles along each side, as bits.
const fn square() -> u64 {
    let (mut bits, mut row) = (0, 0);
    while row < MOST {
        bits |= ((1 << MOST) - 1) << (row * GRID);
        row += 1;
    }
    bits
}
