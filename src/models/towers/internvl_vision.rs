//! The vision part of `internvl` (transformers 5.23): a class token, learned positions, and blocks
//! whose halves are scaled by learned vectors.

use crate::models::tower_prelude::*;

/// Images are summed up by their mean, without a norm; and a norm behind the blocks where not.
pub(super) const POOLED: TowerSize = Own1;
const LAST: TowerSize = Own2;

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
        TowerKey {
            size: Derived,
            key: "vision_config.norm_type",
            default: TowerDefault::Word("layer_norm"),
        },
        stated(Heads, "vision_config.num_attention_heads", 16),
        flag(POOLED, "vision_config.use_mean_pooling", true),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
    ],
    not_looked_at: &["layer_scale_init_value"],
    follow,
    modules: &TowerModules {
        model_type: "internvl_vision",
        parts: &[
            TowerPart { times: Further, layers: &[Plane("mask token", One, Hidden)] },
            TowerPart {
                times: One,
                layers: &[
                    Plane("class token", One, Hidden),
                    Plane("position embedding", Positions, Hidden),
                    Linear("patch embedding", Patch, Hidden),
                    Runs(&[
                        Step::Is(Fact::PixelsCast),
                        Step::Patches(2),
                        Step::ClassToken(0),
                        Step::Added(1),
                    ]),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    Vector("scale of attention", Hidden),
                    Vector("scale of feed-forward", Hidden),
                    MaybeBiased("query", Hidden, Hidden, Biased),
                    MaybeBiased("key", Hidden, Hidden, Biased),
                    MaybeBiased("value", Hidden, Hidden, Biased),
                    Linear("output", Hidden, Hidden),
                    MaybeNorm(Hidden, Normed),
                    MaybeNorm(Hidden, Normed),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                    EitherNorm(Hidden, Derived),
                    EitherNorm(Hidden, Derived),
                    Runs(&[
                        Step::Is(Fact::NarrowSoftmax),
                        Step::Attention {
                            norm: 10,
                            matrices: [2, 3, 4, 5],
                            scaled: Some(TowerScale { normed: [6, 7], scale: 0 }),
                        },
                        Step::FeedForward { norm: 11, matrices: [8, 9], scale: Some(1) },
                    ]),
                ],
            },
            TowerPart { times: LAST, layers: &[LayerNorm(Hidden)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// A position for every patch, and one for the class token, where there are positions.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    sizes.set(LAST, u64::from(sizes.get(POOLED) == 0));
    sizes.set(Positions, sizes.get(Patches).saturating_add(1).saturating_mul(sizes.get(Positions)));
}
