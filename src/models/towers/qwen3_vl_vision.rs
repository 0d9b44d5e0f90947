//! The vision part of `qwen3_vl` and its relatives (transformers 5.23): learned positions, and
//! mergers that feed the text's first blocks.

use super::qwen2_vl_vision::{JOINT_BLOCKS, MERGER};
use crate::models::tower_prelude::*;

/// The fewest and the most pixels of an image (`preprocessor_config.json` of Qwen3-VL and of
/// Qwen3.5).
const LIMITS: [u64; 2] = [65_536, 16_777_216];

/// Blocks whose output feeds the text's first ones, as bits.
const FED_BEHIND: TowerSize = Own1;

/// `qwen3_vl_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &[
        "qwen3_vl_vision",
        "qwen3_vl",
        "qwen3_vl_moe_vision",
        "qwen3_vl_moe",
        "qwen3_omni_moe_vision_encoder",
    ],
    whole: &["qwen3_vl", "qwen3_vl_moe", "cosmos3_omni"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Out, "vision_config.out_hidden_size", 3584),
        stated(Layers, "vision_config.depth", 27),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(Positions, "vision_config.num_position_embeddings", 2304),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
        TowerKey {
            size: Fed,
            key: "vision_config.deepstack_visual_indexes",
            default: TowerDefault::Count(3),
        },
        places(FED_BEHIND, "vision_config.deepstack_visual_indexes_behind", [8, 16, 24]),
    ],
    not_looked_at: &[],
    follow: super::qwen2_5_vl_vision::follow,
    modules: &TowerModules {
        model_type: "qwen3_vl_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("patch embedding", Patch, Hidden),
                    Table("position embedding", Positions, Hidden),
                    Runs(&[
                        Step::Packed { layer: 0, limits: LIMITS, wanted: false },
                        Step::Interpolated(1),
                    ]),
                ],
            },
            JOINT_BLOCKS,
            TowerPart {
                times: One,
                layers: &[LayerNorm(Hidden), Runs(&[Step::Norm(0), Step::Merged])],
            },
            MERGER,
            TowerPart {
                times: Fed,
                layers: &[
                    LayerNorm(Merged),
                    Linear("merger", Merged, Merged),
                    Linear("merger output", Merged, Out),
                    Runs(&[
                        Step::Feeds(FED_BEHIND),
                        Step::Merged,
                        Step::Norm(0),
                        Step::Linear(1),
                        Step::Gelu,
                        Step::Linear(2),
                    ]),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ties: &[
        ("cosmos3_omni", Ties::OfWhole(false)),
        ("qwen3_vl", Ties::OfWhole(false)),
        ("qwen3_vl_moe", Ties::OfWhole(false)),
    ],
    ..TowerSpec::PLAIN
};
