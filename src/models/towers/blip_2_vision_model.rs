//! The vision part of `blip-2` and `instructblip` (transformers 5.23): a class token, learned
//! positions, and blocks with one projection for queries, keys and values.

use crate::models::tower_prelude::*;

/// `blip_2_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["blip_2_vision_model", "instructblip_vision_model", "instructblipvideo_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1408),
        stated(Inner, "vision_config.intermediate_size", 6144),
        stated(Layers, "vision_config.num_hidden_layers", 39),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 14),
        flag(Biased, "vision_config.qkv_bias", true),
    ],
    not_looked_at: &["num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "blip_2_vision_model",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("class token", Hidden),
                    Table("position embedding", Positions, Hidden),
                    Linear("patch embedding", Patch, Hidden),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    Matrix("query, key and value", Hidden, Joint),
                    Linear("output", Hidden, Hidden),
                    LayerNorm(Hidden),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                    LayerNorm(Hidden),
                ],
            },
            TowerPart { times: Biased, layers: &[Vector("query, key and value bias", Joint)] },
            super::siglip_vision_model::BEHIND,
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// A position for every patch, and one for the class token. Images have three channels.
pub fn follow(sizes: &mut TowerSizes) {
    sizes.set(Channels, 3);
    patches(sizes);
    sizes.set(Positions, sizes.get(Patches).saturating_add(1));
    sizes.set(Biased, sizes.get(Biased).saturating_mul(sizes.get(Layers)));
}
