//! The vision part of `video_llama_3` (transformers 5.23): rotated patches, the blocks of a vision
//! transformer, and a norm.

use super::siglip_vision_model::BEHIND;
use crate::models::tower_prelude::*;

/// `video_llama_3_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["video_llama_3_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 12),
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
    ],
    not_looked_at: &[],
    follow: super::qwen2_5_vl_vision::follow,
    modules: &TowerModules {
        model_type: "video_llama_3_vision",
        parts: &[
            TowerPart { times: One, layers: &[Linear("patch embedding", Patch, Hidden)] },
            BLOCKS,
            BEHIND,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};
