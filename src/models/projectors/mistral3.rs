//! `mistral3`, `lighton_ocr` and `mistral_large4` (transformers 5.23): normed patches, merged by a
//! matrix, through two more.

use super::llava::{BIASES, MATRICES, follow as side_by_side};
use crate::models::tower_prelude::*;

/// The longest side of an image (`preprocessor_config.json` of
/// mistralai/Mistral-Small-3.1-24B-Instruct-2503).
const LONGEST: u64 = 1540;

/// `mistral3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["mistral3", "lighton_ocr", "mistral_large4"],
    tower: "pixtral",
    keys: &[
        TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(1) },
        flag(Biased, "multimodal_projector_bias", false),
        stated(Merge, "spatial_merge_size", 2),
        maybe(Behind, "vision_feature_layer_behind", 0),
        function(OutAct, "projector_hidden_act", HiddenAct::Gelu),
    ],
    follow,
    modules: &TowerModules {
        model_type: "mistral3",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    RmsNorm(Hidden),
                    Matrix("patch merger", Merged, Hidden),
                    Runs(&[
                        Step::Is(Fact::Longest(LONGEST)),
                        Step::OfLast,
                        Step::Norm(0),
                        Step::Unfolded,
                        Step::Linear(1),
                    ]),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    MATRICES.layers[0],
                    MATRICES.layers[1],
                    Runs(&[
                        Step::BiasedBehind(0, 0),
                        Step::Function,
                        Step::BiasedBehind(1, 1),
                        Step::Listed,
                    ]),
                ],
            },
            BIASES,
        ],
        buffers: &[],
    },
    ties: &[
        ("mistral3", Ties::OfWhole(true)),
        ("lighton_ocr", Ties::OfWhole(true)),
        ("mistral_large4", Ties::OfWhole(false)),
    ],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    side_by_side(sizes);
}
