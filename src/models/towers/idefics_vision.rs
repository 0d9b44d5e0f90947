//! The vision part of `idefics` (transformers 5.23): CLIP, with other names for its sizes.

use crate::models::clip::{BEFORE, BEHIND};
use crate::models::tower_prelude::*;

/// `idefics_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["idefics_vision"],
    keys: &[
        stated(Hidden, "vision_config.embed_dim", 768),
        stated(Inner, "vision_config.intermediate_size", 5120),
        stated(Layers, "vision_config.num_hidden_layers", 32),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 14),
        stated(Heads, "vision_config.num_attention_heads", 16),
    ],
    modules: &TowerModules {
        model_type: "idefics_vision",
        parts: &[BEFORE, BLOCKS, BEHIND],
        buffers: super::clip_vision_model::TOWER.modules.buffers,
    },
    ..super::clip_vision_model::TOWER
};
