//! The vision part of `phi4_multimodal` (transformers 5.23): SigLIP with its pooling head.

use super::siglip_vision_model::{BEHIND, PATCHES, POOL};
use crate::models::tower_prelude::*;

/// `phi4_multimodal_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["phi4_multimodal_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Layers, "vision_config.num_hidden_layers", 27),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 448),
        stated(Side, "vision_config.patch_size", 14),
        stated(Heads, "vision_config.num_attention_heads", 16),
    ],
    not_looked_at: &["crop_size", "feature_layer"],
    follow,
    modules: &TowerModules {
        model_type: "phi4_multimodal_vision",
        parts: &[PATCHES, BLOCKS, BEHIND, POOL],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    sizes.set(Pooled, 1);
}
