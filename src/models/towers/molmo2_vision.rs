//! The vision part of `molmo2` (transformers 5.23): learned positions and blocks, of which the
//! projector reads some.

use crate::models::tower_prelude::*;

const HEAD: TowerSize = Own1;
const WIDTH: TowerSize = Own2;
const KEYS: TowerSize = Own3;

/// `molmo2_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["molmo2_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(KeyHeads, "vision_config.num_key_value_heads", 16),
        stated(HEAD, "vision_config.head_dim", 72),
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Layers, "vision_config.num_hidden_layers", 25),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 378),
        stated(Side, "vision_config.patch_size", 14),
        maybe(Positions, "vision_config.num_position_embeddings", 0),
        flag(Biased, "vision_config.attention_bias", true),
    ],
    follow,
    modules: &TowerModules {
        model_type: "molmo2_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Table("position embedding", Positions, Hidden),
                    Linear("patch embedding", Patch, Hidden),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    LayerNorm(Hidden),
                    Matrix("query", Hidden, WIDTH),
                    Matrix("key", Hidden, KEYS),
                    Matrix("value", Hidden, KEYS),
                    Matrix("output", WIDTH, Hidden),
                    LayerNorm(Hidden),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[
                    Vector("query bias", WIDTH),
                    Vector("key bias", KEYS),
                    Vector("value bias", KEYS),
                    Vector("output bias", Hidden),
                ],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// As many positions as patches, unless the file states them.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    if sizes.get(Positions) == 0 {
        product(sizes, Positions, Patches, 1);
    }
    product(sizes, WIDTH, HEAD, sizes.get(Heads));
    product(sizes, KEYS, HEAD, sizes.get(KeyHeads));
    product(sizes, Biased, Biased, sizes.get(Layers));
}
