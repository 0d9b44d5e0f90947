//! The vision part of `ovis2` (transformers 5.23): RMS norms, gated feed-forward layers, and a head
//! that picks rows of a table.

use crate::models::tower_prelude::*;

const STRIDE: TowerSize = Own1;
/// Rows of the table of embedded images.
const ROWS: TowerSize = Own2;
const MARKS: TowerSize = Own3;
const PICKED: TowerSize = Own4;
const BIASES: TowerSize = Own5;

/// `ovis2_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["ovis2_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 2816),
        stated(Layers, "vision_config.num_hidden_layers", 24),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 14),
        flag(Biased, "vision_config.qkv_bias", false),
        flag(BIASES, "vision_config.mlp_bias", false),
        stated(STRIDE, "vision_config.hidden_stride", 1),
        stated(ROWS, "vision_config.vocab_size", 16_384),
        maybe(MARKS, "vision_config.num_visual_indicator_tokens", 5),
    ],
    not_looked_at: &["num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "ovis2_vision",
        parts: &[
            super::siglip_vision_model::PATCHES,
            TowerPart { times: One, layers: &[RmsNorm(Hidden)] },
            TowerPart {
                times: Layers,
                layers: &[
                    Matrix("key", Hidden, Hidden),
                    Matrix("value", Hidden, Hidden),
                    Matrix("query", Hidden, Hidden),
                    Matrix("output", Hidden, Hidden),
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[
                    Vector("key bias", Hidden),
                    Vector("value bias", Hidden),
                    Vector("query bias", Hidden),
                    Vector("output bias", Hidden),
                ],
            },
            TowerPart {
                times: BIASES,
                layers: &[
                    Vector("gate bias", Inner),
                    Vector("up bias", Inner),
                    Vector("down bias", Hidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[RmsNorm(Hidden), Matrix("head", Merged, PICKED), LayerNorm(PICKED)],
            },
        ],
        buffers: &[TowerBuffer::PositionIds(Patches)],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    let of = |size| sizes.get(size);
    let derived = [
        (Merged, of(Hidden).saturating_mul(of(STRIDE).saturating_mul(of(STRIDE)))),
        (PICKED, of(ROWS).saturating_sub(of(MARKS))),
        (Biased, of(Biased).saturating_mul(of(Layers))),
        (BIASES, of(BIASES).saturating_mul(of(Layers))),
    ];
    for (size, value) in derived {
        sizes.set(size, value);
    }
}
