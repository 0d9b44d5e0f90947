//! The vision part of `kosmos-2.5` (transformers 5.23), which is that of Pix2Struct: flat patches
//! with positions by row and column, RMS norms, and gated feed-forward layers without biases.

use crate::models::tower_prelude::*;

const COLUMNS: TowerSize = Own1;

/// `kosmos_2_5_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["kosmos_2_5_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1536),
        stated(Inner, "vision_config.intermediate_size", 3968),
        stated(Layers, "vision_config.num_hidden_layers", 18),
        stated(Heads, "vision_config.num_attention_heads", 24),
        stated(Further, "vision_config.head_dim", 64),
        stated(Patch, "vision_config.patch_embed_hidden_size", 768),
        stated(Positions, "vision_config.max_num_patches", 4096),
    ],
    follow,
    modules: &TowerModules {
        model_type: "kosmos_2_5_vision_model",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("patch embedding", Patch, Hidden),
                    Table("positions by row", Positions, Hidden),
                    Table("positions by column", Positions, Hidden),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    Matrix("query", Hidden, COLUMNS),
                    Matrix("key", Hidden, COLUMNS),
                    Matrix("value", Hidden, COLUMNS),
                    Matrix("output", COLUMNS, Hidden),
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                ],
            },
            TowerPart { times: One, layers: &[RmsNorm(Hidden)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    product(sizes, COLUMNS, Heads, sizes.get(Further));
}
