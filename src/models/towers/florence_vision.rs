//! The vision part of `florence2` (transformers 5.23): convolutions on four levels, each twice as wide as the one before, with blocks that
//! attend within windows and blocks that attend among channels.

use crate::models::tower_prelude::*;

const FIRST: TowerSize = Own1;
const SECOND: TowerSize = Own2;
const THIRD: TowerSize = Own3;
const FOURTH: TowerSize = Own4;
/// Queries, keys and values of the levels.
const FIRST_JOINT: TowerSize = Own5;
const SECOND_JOINT: TowerSize = Own6;
const THIRD_JOINT: TowerSize = Own7;
const FOURTH_JOINT: TowerSize = Own8;
/// Inner widths of the last two levels; those of the others are the widths two levels on.
const THIRD_INNER: TowerSize = Own9;
const FOURTH_INNER: TowerSize = Own10;
/// Numbers that the convolutions between the levels read.
const INTO_FIRST: TowerSize = Own11;
const INTO_SECOND: TowerSize = Own12;
const INTO_THIRD: TowerSize = Own13;
const INTO_FOURTH: TowerSize = Own14;
const NINE: TowerSize = Own15;

/// `florence_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["florence_vision"],
    only: &[
        TowerOnly { key: "vision_config.depths", is: Known::Numbers(&[1, 1, 9, 1]) },
        TowerOnly { key: "vision_config.patch_size", is: Known::Numbers(&[7, 3, 3, 3]) },
        TowerOnly { key: "vision_config.patch_prenorm", is: Known::Numbers(&[0, 1, 1, 1]) },
        TowerOnly { key: "vision_config.mlp_ratio", is: Known::Numbers(&[4]) },
        TowerOnly { key: "vision_config.qkv_bias", is: Known::Numbers(&[1]) },
    ],
    keys: &[
        TowerKey { size: FIRST, key: "vision_config.embed_dim", default: TowerDefault::Doubling(128) },
        stated(Channels, "vision_config.in_channels", 3),
        stated(Out, "vision_config.projection_dim", 1024),
        stated(Positions, "vision_config.max_position_embeddings", 50),
        stated(Frames, "vision_config.max_temporal_embeddings", 100),
    ],
    not_looked_at: &["num_groups", "num_heads", "patch_padding", "patch_stride", "window_size", "drop_path_rate"],
    follow,
    modules: &TowerModules {
        model_type: "florence_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("patches", INTO_FIRST, FIRST),
                    LayerNorm(FIRST),
                    Linear("second patches", INTO_SECOND, SECOND),
                    LayerNorm(FIRST),
                    Linear("third patches", INTO_THIRD, THIRD),
                    LayerNorm(SECOND),
                    Linear("fourth patches", INTO_FOURTH, FOURTH),
                    LayerNorm(THIRD),
                ],
            },
            ON_FIRST,
            ON_FIRST,
            ON_SECOND,
            ON_SECOND,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_THIRD,
            ON_FOURTH,
            ON_FOURTH,
        ],
        buffers: &[TowerBuffer::Table(Frames, FOURTH)],
    },
    ..TowerSpec::PLAIN
};

/// A block of each level: of windows, and of channels.
const ON_FIRST: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("convolution", NINE, FIRST),
        LayerNorm(FIRST),
        Linear("query, key and value", FIRST, FIRST_JOINT),
        Linear("output", FIRST, FIRST),
        Linear("second convolution", NINE, FIRST),
        LayerNorm(FIRST),
        Linear("up", FIRST, THIRD),
        Linear("down", THIRD, FIRST),
    ],
};

const ON_SECOND: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("convolution", NINE, SECOND),
        LayerNorm(SECOND),
        Linear("query, key and value", SECOND, SECOND_JOINT),
        Linear("output", SECOND, SECOND),
        Linear("second convolution", NINE, SECOND),
        LayerNorm(SECOND),
        Linear("up", SECOND, FOURTH),
        Linear("down", FOURTH, SECOND),
    ],
};

const ON_THIRD: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("convolution", NINE, THIRD),
        LayerNorm(THIRD),
        Linear("query, key and value", THIRD, THIRD_JOINT),
        Linear("output", THIRD, THIRD),
        Linear("second convolution", NINE, THIRD),
        LayerNorm(THIRD),
        Linear("up", THIRD, THIRD_INNER),
        Linear("down", THIRD_INNER, THIRD),
    ],
};

const ON_FOURTH: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("convolution", NINE, FOURTH),
        LayerNorm(FOURTH),
        Linear("query, key and value", FOURTH, FOURTH_JOINT),
        Linear("output", FOURTH, FOURTH),
        Linear("second convolution", NINE, FOURTH),
        LayerNorm(FOURTH),
        Linear("up", FOURTH, FOURTH_INNER),
        Linear("down", FOURTH_INNER, FOURTH),
    ],
};

fn follow(sizes: &mut TowerSizes) {
    for (size, times) in [(SECOND, 2), (THIRD, 4), (FOURTH, 8), (FIRST_JOINT, 3), (SECOND_JOINT, 6), (THIRD_JOINT, 12)] {
        product(sizes, size, FIRST, times);
    }
    for (size, times) in [(FOURTH_JOINT, 24), (THIRD_INNER, 16), (FOURTH_INNER, 32), (INTO_SECOND, 9), (INTO_THIRD, 18)] {
        product(sizes, size, FIRST, times);
    }
    product(sizes, INTO_FOURTH, FIRST, 36);
    product(sizes, INTO_FIRST, Channels, 49);
    sizes.set(NINE, 9);
}
