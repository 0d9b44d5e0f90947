//! The vision part of `git` (transformers 5.23): CLIP with other defaults.

use crate::models::clip::{BEFORE, BEHIND};
use crate::models::tower_prelude::*;

/// `git_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["git_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 16),
        stated(Heads, "vision_config.num_attention_heads", 12),
    ],
    modules: &TowerModules {
        model_type: "git_vision_model",
        parts: &[BEFORE, BLOCKS, BEHIND],
        buffers: super::clip_vision_model::TOWER.modules.buffers,
    },
    ..super::clip_vision_model::TOWER
};
