//! `gemma4_vision`, the vision part of `gemma4` (transformers 5.23): patches by a matrix, positions
//! by column and by row, and blocks with norms around both halves and on queries and keys. Its run
//! is not described: images are refused by name.

use crate::models::tower_prelude::*;

/// Width of a head, and rows of both tables of positions.
const HEAD: TowerSize = Own1;
const PLACES: TowerSize = Own2;

/// `gemma4_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["gemma4_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 16),
        stated(Heads, "vision_config.num_attention_heads", 12),
        stated(KeyHeads, "vision_config.num_key_value_heads", 12),
        stated(HEAD, "vision_config.head_dim", 64),
        stated(Side, "vision_config.patch_size", 16),
        stated(Positions, "vision_config.position_embedding_size", 10_240),
    ],
    // Soft tokens of an image, and heads that no layer has.
    not_looked_at: &[
        "default_output_length",
        "pooling_kernel_size",
        "global_head_dim",
        "max_position_embeddings",
    ],
    follow,
    modules: &TowerModules {
        model_type: "gemma4_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("patch embedding", Patch, Hidden),
                    Table("positions", PLACES, Hidden),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    Matrix("query", Hidden, Queries),
                    Matrix("key", Hidden, Wide),
                    Matrix("value", Hidden, Wide),
                    Matrix("output", Queries, Hidden),
                    RmsNorm(HEAD),
                    RmsNorm(HEAD),
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                ],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    let of = |size| sizes.get(size);
    let (side, head) = (of(Side), of(HEAD));
    let (queries, keys) = (of(Heads).saturating_mul(head), of(KeyHeads).saturating_mul(head));
    sizes.set(Patch, side.saturating_mul(side).saturating_mul(3));
    sizes.set(Queries, queries);
    sizes.set(Wide, keys);
    product(sizes, PLACES, Positions, 2);
}
