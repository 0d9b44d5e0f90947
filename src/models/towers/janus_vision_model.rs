//! The vision part of `janus` (transformers 5.23): learned positions, blocks and a norm.

use super::siglip_vision_model::{BEHIND, PATCHES};
use crate::models::tower_prelude::*;

/// `janus_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["janus_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Further, "vision_config.mlp_ratio", 4),
        stated(Layers, "vision_config.num_hidden_layers", 24),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 384),
        stated(Side, "vision_config.patch_size", 16),
        flag(Biased, "vision_config.attention_bias", true),
        flag(Normed, "vision_config.use_qk_norm", false),
    ],
    not_looked_at: &["num_attention_heads", "num_image_tokens", "hidden_dropout_rate"],
    follow,
    modules: &TowerModules {
        model_type: "janus_vision_model",
        parts: &[
            PATCHES,
            TowerPart {
                times: Layers,
                layers: &[
                    LayerNorm(Hidden),
                    Matrix("query", Hidden, Hidden),
                    Matrix("key", Hidden, Hidden),
                    Matrix("value", Hidden, Hidden),
                    Linear("output", Hidden, Hidden),
                    LayerNorm(Hidden),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[
                    Vector("query bias", Hidden),
                    Vector("key bias", Hidden),
                    Vector("value bias", Hidden),
                ],
            },
            TowerPart { times: Normed, layers: &[LayerNorm(Hidden), LayerNorm(Hidden)] },
            BEHIND,
        ],
        buffers: &[TowerBuffer::PositionIds(Patches)],
    },
    ..TowerSpec::PLAIN
};

/// The inner width is a multiple of the width, and every block has the parts that a switch adds.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    product(sizes, Inner, Hidden, sizes.get(Further));
    product(sizes, Biased, Biased, sizes.get(Layers));
    product(sizes, Normed, Normed, sizes.get(Layers));
}
