//! The vision part of `idefics2` (transformers 5.23): that of `idefics3` with other defaults.

use crate::models::tower_prelude::*;

/// `idefics2_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["idefics2_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 32),
    ],
    not_looked_at: &[
        "num_attention_heads",
        "size",
        "max_image_size",
        "tie_word_embeddings",
        "image_token_id",
    ],
    modules: &TowerModules {
        model_type: "idefics2_vision",
        ..*super::idefics3_vision::TOWER.modules
    },
    ..super::idefics3_vision::TOWER
};
