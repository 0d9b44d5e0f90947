//! The vision part of `internvl` (transformers 5.23): a class token, learned positions, and blocks whose halves are scaled by learned
//! vectors.

use crate::models::tower_prelude::*;

/// `internvl_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["internvl_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Layers, "vision_config.num_hidden_layers", 24),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 448),
        stated(Side, "vision_config.patch_size", 14),
        flag(Biased, "vision_config.attention_bias", false),
        flag(Normed, "vision_config.use_qk_norm", false),
        flag(Further, "vision_config.use_mask_token", false),
        flag(Positions, "vision_config.use_absolute_position_embeddings", true),
        TowerKey { size: Derived, key: "vision_config.norm_type", default: TowerDefault::Word("layer_norm") },
    ],
    not_looked_at: &["num_attention_heads", "layer_scale_init_value"],
    follow,
    modules: &TowerModules {
        model_type: "internvl_vision",
        parts: &[
            TowerPart { times: One, layers: &[Vector("class token", Hidden)] },
            TowerPart { times: Further, layers: &[Vector("mask token", Hidden)] },
            TowerPart { times: One, layers: &[Table("position embedding", Positions, Hidden)] },
            TowerPart { times: One, layers: &[Linear("patch embedding", Patch, Hidden)] },
            TowerPart {
                times: Layers,
                layers: &[
                    Vector("scale of attention", Hidden),
                    Vector("scale of feed-forward", Hidden),
                    Matrix("query", Hidden, Hidden),
                    Matrix("key", Hidden, Hidden),
                    Matrix("value", Hidden, Hidden),
                    Linear("output", Hidden, Hidden),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                ],
            },
            TowerPart { times: Derived, layers: &[Vector("norm bias", Hidden), Vector("second norm bias", Hidden)] },
            TowerPart {
                times: Biased,
                layers: &[Vector("query bias", Hidden), Vector("key bias", Hidden), Vector("value bias", Hidden)],
            },
            TowerPart { times: Normed, layers: &[RmsNorm(Hidden), RmsNorm(Hidden)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// Every block has the parameters that a switch adds, so a switch that is on counts the blocks.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    sizes.set(Positions, sizes.get(Patches).saturating_add(1).saturating_mul(sizes.get(Positions)));
    for switch in [Biased, Normed, Derived] {
        sizes.set(switch, sizes.get(switch).saturating_mul(sizes.get(Layers)));
    }
}
