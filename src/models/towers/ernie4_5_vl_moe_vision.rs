//! The vision part of `ernie4_5_vl_moe` (transformers 5.23): rotated patches, blocks with one
//! projection for queries, keys and values, and a norm.

use super::qwen2_vl_vision::JOINT_BLOCKS;
use super::siglip_vision_model::BEHIND;
use crate::models::tower_prelude::*;

/// `ernie4_5_vl_moe_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["ernie4_5_vl_moe_vision"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1280),
        stated(Inner, "vision_config.intermediate_size", 5120),
        stated(Layers, "vision_config.depth", 32),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(Further, "vision_config.temporal_merge_size", 2),
    ],
    follow: super::qwen2_5_vl_vision::follow,
    modules: &TowerModules {
        model_type: "ernie4_5_vl_moe_vision",
        parts: &[
            TowerPart { times: One, layers: &[Matrix("patch embedding", Patch, Hidden)] },
            JOINT_BLOCKS,
            BEHIND,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};
