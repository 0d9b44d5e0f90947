//! The vision part of `qwen2_5_vl` (transformers 5.23): RMS norms, and gated feed-forward layers with biases.

use super::qwen2_vl_vision::MERGER;
use crate::models::tower_prelude::*;

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
    ],
    not_looked_at: &["in_chans", "spatial_patch_size", "window_size", "fullatt_block_indexes"],
    follow,
    modules: &TowerModules {
        model_type: "qwen2_5_vl_vision",
        parts: &[
            TowerPart { times: One, layers: &[Matrix("patch embedding", Patch, Hidden)] },
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
                ],
            },
            TowerPart { times: One, layers: &[RmsNorm(Hidden)] },
            MERGER,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// Frequencies turn a quarter of a head along each side.
pub fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
}
