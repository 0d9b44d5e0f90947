//! The vision part of `florence2` (transformers 5.23): convolutions on four levels, each twice as
//! wide as the one before, with blocks that attend within windows and blocks that attend among
//! channels.

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
        TowerKey {
            size: FIRST,
            key: "vision_config.embed_dim",
            default: TowerDefault::Doubling(128),
        },
        stated(Channels, "vision_config.in_channels", 3),
        stated(Out, "vision_config.projection_dim", 1024),
        stated(Positions, "vision_config.max_position_embeddings", 50),
        stated(Frames, "vision_config.max_temporal_embeddings", 100),
    ],
    not_looked_at: &[
        "num_groups",
        "num_heads",
        "patch_padding",
        "patch_stride",
        "window_size",
        "drop_path_rate",
    ],
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

/// A block of one level: of windows, and of channels.
macro_rules! on_level {
    ($width:ident, $joint:ident, $inner:ident) => {
        TowerPart {
            times: One,
            layers: &[
                Linear("convolution", NINE, $width),
                LayerNorm($width),
                Linear("query, key and value", $width, $joint),
                Linear("output", $width, $width),
                Linear("second convolution", NINE, $width),
                LayerNorm($width),
                Linear("up", $width, $inner),
                Linear("down", $inner, $width),
            ],
        }
    };
}

const ON_FIRST: TowerPart = on_level!(FIRST, FIRST_JOINT, THIRD);
const ON_SECOND: TowerPart = on_level!(SECOND, SECOND_JOINT, FOURTH);
const ON_THIRD: TowerPart = on_level!(THIRD, THIRD_JOINT, THIRD_INNER);
const ON_FOURTH: TowerPart = on_level!(FOURTH, FOURTH_JOINT, FOURTH_INNER);

fn follow(sizes: &mut TowerSizes) {
    for (size, times) in [
        (SECOND, 2),
        (THIRD, 4),
        (FOURTH, 8),
        (FIRST_JOINT, 3),
        (SECOND_JOINT, 6),
        (THIRD_JOINT, 12),
    ] {
        product(sizes, size, FIRST, times);
    }
    for (size, times) in [
        (FOURTH_JOINT, 24),
        (THIRD_INNER, 16),
        (FOURTH_INNER, 32),
        (INTO_SECOND, 9),
        (INTO_THIRD, 18),
    ] {
        product(sizes, size, FIRST, times);
    }
    product(sizes, INTO_FOURTH, FIRST, 36);
    product(sizes, INTO_FIRST, Channels, 49);
    sizes.set(NINE, 9);
}
