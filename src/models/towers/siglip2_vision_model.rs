//! `siglip2_vision_model` (transformers 5.23, `models/siglip2`): `SigLIP` with images of any shape,
//! whose positions are a table of stated length.

use super::siglip_vision_model::{BEHIND, POOL};
use crate::models::tower_prelude::*;

/// `siglip2_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["siglip2_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        stated(Positions, "vision_config.num_patches", 256),
        flag(Pooled, "vision_config.vision_use_head", true),
    ],
    not_looked_at: &["num_attention_heads", "image_size"],
    follow: patches,
    modules: &TowerModules {
        model_type: "siglip2_vision_model",
        parts: &[PATCHES, BLOCKS, BEHIND, POOL],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

const PATCHES: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("patch embedding", Patch, Hidden),
        Table("position embedding", Positions, Hidden),
    ],
};
