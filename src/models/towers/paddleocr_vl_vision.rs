//! The vision part of `paddleocr_vl` (transformers 5.23): `SigLIP` without a head, whose patches
//! are rotated as well.

use super::siglip_vision_model::{BEHIND, PATCHES};
use crate::models::tower_prelude::*;

/// `paddleocr_vl_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["paddleocr_vl_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Layers, "vision_config.num_hidden_layers", 27),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 384),
        stated(Side, "vision_config.patch_size", 14),
        stated(Merge, "vision_config.spatial_merge_size", 2),
    ],
    follow: super::qwen2_5_vl_vision::follow,
    modules: &TowerModules {
        model_type: "paddleocr_vl_vision",
        parts: &[PATCHES, BLOCKS, BEHIND],
        buffers: &[TowerBuffer::PositionIds(Patches), TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};
