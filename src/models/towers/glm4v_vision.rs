//! The vision part of `glm4v` and its relatives (transformers 5.23): RMS norms, gated feed-forward
//! layers, patches merged by a convolution, and a gated layer behind them.

use crate::models::tower_prelude::*;

/// `glm4v_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &[
        "glm4v_vision",
        "glm4v",
        "glm4v_moe_vision",
        "glm4v_moe",
        "glm46v_vision",
        "glmga_vision",
    ],
    whole: &["glm4v", "glm4v_moe", "glm46v", "glmga"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 12),
        stated(Hidden, "vision_config.hidden_size", 1536),
        stated(Wide, "vision_config.intermediate_size", 13_696),
        stated(Out, "vision_config.out_hidden_size", 4096),
        stated(Layers, "vision_config.depth", 24),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Image, "vision_config.image_size", 336),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        flag(Biased, "vision_config.attention_bias", false),
    ],
    not_looked_at: &[],
    follow,
    modules: &TowerModules {
        model_type: "glm4v_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Table("position embedding", Patches, Hidden),
                    Linear("patch embedding", Patch, Hidden),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    Matrix("query, key and value", Hidden, Joint),
                    Matrix("output", Hidden, Hidden),
                    // The blocks are as wide inside as the text.
                    Matrix("gate", Hidden, Out),
                    Matrix("up", Hidden, Out),
                    Matrix("down", Out, Hidden),
                ],
            },
            TowerPart { times: Biased, layers: &[Vector("query, key and value bias", Joint)] },
            TowerPart {
                times: One,
                layers: &[
                    Matrix("merger", Out, Out),
                    LayerNorm(Out),
                    Matrix("merger gate", Out, Wide),
                    Matrix("merger up", Out, Wide),
                    Matrix("merger down", Wide, Out),
                    RmsNorm(Hidden),
                    Linear("downsampling", Merged, Out),
                    RmsNorm(Hidden),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ties: &[
        ("glm4v", Ties::Either),
        ("glm4v_moe", Ties::Either),
        ("glm46v", Ties::OfWhole(false)),
        ("glmga", Ties::OfWhole(false)),
    ],
    ..TowerSpec::PLAIN
};

/// A bias stands in every block.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    sizes.set(Biased, sizes.get(Biased).saturating_mul(sizes.get(Layers)));
}
