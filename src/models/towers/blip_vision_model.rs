//! The vision part of `blip` (transformers 5.23): that of `blip-2` with other defaults, and biases
//! everywhere.

use crate::models::tower_prelude::*;

/// `blip_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["blip_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Image, "vision_config.image_size", 384),
        stated(Side, "vision_config.patch_size", 16),
    ],
    not_looked_at: &["num_attention_heads", "projection_dim"],
    follow,
    modules: &TowerModules {
        model_type: "blip_vision_model",
        ..*super::blip_2_vision_model::TOWER.modules
    },
    ..super::blip_2_vision_model::TOWER
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(Biased, 1);
    super::blip_2_vision_model::follow(sizes);
}
