//! The vision part of `glm_ocr` (transformers 5.23): that of `glm4v` without learned positions,
//! with biases and norms of queries and keys.

use crate::models::tower_prelude::*;

const HEAD: TowerSize = Own1;

/// `glm_ocr_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["glm_ocr_vision", "glm_ocr"],
    whole: &["glm_ocr"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Out, "vision_config.out_hidden_size", 1536),
        stated(Layers, "vision_config.depth", 24),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        flag(Biased, "vision_config.attention_bias", true),
    ],
    not_looked_at: &["image_size"],
    follow,
    modules: &TowerModules {
        model_type: "glm_ocr_vision",
        parts: &[
            TowerPart { times: One, layers: &[Linear("patch embedding", Patch, Hidden)] },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    Matrix("query, key and value", Hidden, Joint),
                    Matrix("output", Hidden, Hidden),
                    RmsNorm(HEAD),
                    RmsNorm(HEAD),
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[
                    Vector("query, key and value bias", Joint),
                    Vector("output bias", Hidden),
                    Vector("gate bias", Inner),
                    Vector("up bias", Inner),
                    Vector("down bias", Hidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    Matrix("merger", Out, Out),
                    LayerNorm(Out),
                    Matrix("merger gate", Out, Wide),
                    Matrix("merger up", Out, Wide),
                    Matrix("merger down", Wide, Out),
                    Linear("downsampling", Merged, Out),
                    RmsNorm(Hidden),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ties: &[("glm_ocr", Ties::Either)],
    ..TowerSpec::PLAIN
};

/// The merger is wider than its output by the number of channels. A bias stands in every block.
pub fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    sizes.set(HEAD, sizes.get(Hidden) / sizes.get(Heads).max(1));
    product(sizes, Wide, Out, sizes.get(Channels));
    product(sizes, Biased, Biased, sizes.get(Layers));
}
