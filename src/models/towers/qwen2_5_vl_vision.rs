//! The vision part of `qwen2_5_vl` (transformers 5.23): RMS norms, and gated feed-forward layers
//! with biases.

use super::qwen2_vl_vision::{LIMITS, MERGER};
use crate::models::tower_prelude::*;

/// The side of a window, pixels.
const WINDOW: TowerSize = Own1;
/// The blocks that see the whole image.
const WHOLE: TowerSize = Own2;

/// `qwen2_5_vl_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["qwen2_5_vl_vision", "qwen2_5_vl"],
    whole: &["qwen2_5_vl"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 3584),
        stated(Inner, "vision_config.intermediate_size", 3420),
        stated(Out, "vision_config.out_hidden_size", 3584),
        stated(Layers, "vision_config.depth", 32),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        function(Act, "vision_config.hidden_act", HiddenAct::Silu),
        stated(WINDOW, "vision_config.window_size", 112),
        places(WHOLE, "vision_config.fullatt_block_indexes", [7, 15, 23, 31]),
    ],
    not_looked_at: &["in_chans", "spatial_patch_size"],
    follow,
    modules: &TowerModules {
        model_type: "qwen2_5_vl_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("patch embedding", Patch, Hidden),
                    Runs(&[
                        Step::Packed { layer: 0, limits: LIMITS, wanted: true },
                        Step::Windows { side: WINDOW, whole: WHOLE },
                    ]),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    Linear("query, key and value", Hidden, Joint),
                    Linear("output", Hidden, Hidden),
                    Linear("gate", Hidden, Inner),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                    Runs(&[
                        Step::Joint { norm: 0, matrices: [2, 3] },
                        Step::Gated { norm: 1, matrices: [4, 5, 6] },
                    ]),
                ],
            },
            TowerPart {
                times: One,
                layers: &[RmsNorm(Hidden), Runs(&[Step::Norm(0), Step::Merged])],
            },
            TowerPart {
                times: One,
                layers: &[
                    MERGER.layers[0],
                    MERGER.layers[1],
                    Runs(&[Step::Linear(0), Step::Gelu, Step::Linear(1), Step::InOrder]),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ties: &[("qwen2_5_vl", Ties::Either)],
    ..TowerSpec::PLAIN
};

/// Frequencies turn a quarter of a head along each side.
pub fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
}
