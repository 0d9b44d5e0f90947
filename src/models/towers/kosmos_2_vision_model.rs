//! The vision part of `kosmos-2` (transformers 5.23): CLIP with other defaults.

use crate::models::clip::{BEFORE, BEHIND};
use crate::models::tower_prelude::*;

/// `kosmos_2_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["kosmos_2_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Layers, "vision_config.num_hidden_layers", 24),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 14),
        stated(Heads, "vision_config.num_attention_heads", 16),
    ],
    modules: &TowerModules {
        model_type: "kosmos_2_vision_model",
        parts: &[BEFORE, BLOCKS, BEHIND],
        buffers: super::clip_vision_model::TOWER.modules.buffers,
    },
    ..super::clip_vision_model::TOWER
};
