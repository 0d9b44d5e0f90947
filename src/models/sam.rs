//! The tower of Segment Anything (transformers 5.23, `models/sam`): blocks that see windows, a few
//! that see the whole image, learned positions of each head, and a neck of convolutions.
//!
//! Its sizes stand behind those of a first tower, since some models have it as a second one.

use super::tower_prelude::*;

const IMAGE: TowerSize = Own1;
const SIDE: TowerSize = Own2;
const WINDOW: TowerSize = Own3;
const WHOLE: TowerSize = Own4;
const BIASES: TowerSize = Own5;
const PLACED: TowerSize = Own6;
const RELATIVE: TowerSize = Own7;
const CHANNELS: TowerSize = Own8;
const JOINT: TowerSize = Own9;
const PLACES: TowerSize = Own10;
const WINDOW_ROWS: TowerSize = Own11;
const IMAGE_ROWS: TowerSize = Own12;
const HEAD: TowerSize = Own13;
const WINDOWED: TowerSize = Own14;
/// Numbers that a convolution over three times three places of the neck reads.
pub const NECK_INPUT: TowerSize = Own15;
/// Twice the channels behind the neck.
pub const TWICE: TowerSize = Own16;

/// The sizes under these keys: width, inner width, layers, heads, channels behind the neck, sides
/// of image, patch and window, layers that see the whole image, biases, positions of two kinds, and
/// channels.
pub const fn keys(names: [&'static str; 13]) -> [TowerKey; 13] {
    [
        stated(SecondHidden, names[0], 768),
        maybe(SecondInner, names[1], 0),
        stated(SecondLayers, names[2], 12),
        stated(SecondHeads, names[3], 12),
        stated(SecondOut, names[4], 256),
        stated(IMAGE, names[5], 1024),
        stated(SIDE, names[6], 16),
        stated(WINDOW, names[7], 14),
        TowerKey {
            size: WHOLE,
            key: names[8],
            default: TowerDefault::Below { layers: (names[2], 12), places: &[2, 5, 8, 11] },
        },
        flag(BIASES, names[9], true),
        flag(PLACED, names[10], true),
        flag(RELATIVE, names[11], true),
        stated(CHANNELS, names[12], 3),
    ]
}

/// The keys of a further part.
pub const FURTHER_KEYS: [&str; 13] = [
    "further_config.hidden_size",
    "further_config.mlp_dim",
    "further_config.num_hidden_layers",
    "further_config.num_attention_heads",
    "further_config.output_channels",
    "further_config.image_size",
    "further_config.patch_size",
    "further_config.window_size",
    "further_config.global_attn_indexes",
    "further_config.qkv_bias",
    "further_config.use_abs_pos",
    "further_config.use_rel_pos",
    "further_config.num_channels",
];

/// Patches, blocks and neck.
pub const PARTS: [TowerPart; 7] = [
    TowerPart { times: PLACED, layers: &[Table("position embedding", PLACES, SecondHidden)] },
    TowerPart { times: One, layers: &[Linear("patch embedding", CHANNELS, SecondHidden)] },
    TowerPart {
        times: WINDOWED,
        layers: &[Table("rows", WINDOW_ROWS, HEAD), Table("columns", WINDOW_ROWS, HEAD)],
    },
    TowerPart {
        times: WHOLE,
        layers: &[Table("rows", IMAGE_ROWS, HEAD), Table("columns", IMAGE_ROWS, HEAD)],
    },
    TowerPart { times: BIASES, layers: &[Vector("query, key and value bias", JOINT)] },
    TowerPart {
        times: SecondLayers,
        layers: &[
            LayerNorm(SecondHidden),
            Matrix("query, key and value", SecondHidden, JOINT),
            Linear("output", SecondHidden, SecondHidden),
            LayerNorm(SecondHidden),
            Linear("up", SecondHidden, SecondInner),
            Linear("down", SecondInner, SecondHidden),
        ],
    },
    NECK,
];

/// Convolutions behind the blocks.
pub const NECK: TowerPart = TowerPart {
    times: One,
    layers: &[
        Matrix("neck", SecondHidden, SecondOut),
        LayerNorm(SecondOut),
        Matrix("second layer of the neck", NECK_INPUT, SecondOut),
        LayerNorm(SecondOut),
    ],
};

/// Sets the sizes that follow from others. The inner width is four times the width unless the file
/// states it.
pub fn follow(sizes: &mut TowerSizes) {
    if sizes.get(SecondInner) == 0 {
        product(sizes, SecondInner, SecondHidden, 4);
    }
    let of = |size| sizes.get(size);
    let (layers, side, along) = (of(SecondLayers), of(SIDE), of(IMAGE) / of(SIDE).max(1));
    let (relative, whole, placed) = (of(RELATIVE), of(WHOLE).min(layers), of(PLACED));
    let derived = [
        (CHANNELS, of(CHANNELS).saturating_mul(side.saturating_mul(side))),
        (JOINT, of(SecondHidden).saturating_mul(3)),
        (PLACES, along.saturating_mul(along)),
        (WINDOW_ROWS, of(WINDOW).saturating_mul(2).saturating_sub(1)),
        (IMAGE_ROWS, along.saturating_mul(2).saturating_sub(1)),
        (HEAD, of(SecondHidden) / of(SecondHeads).max(1)),
        (WHOLE, whole.saturating_mul(relative)),
        (WINDOWED, layers.saturating_sub(whole).saturating_mul(relative)),
        (BIASES, of(BIASES).saturating_mul(layers)),
        (PLACED, placed),
        (NECK_INPUT, of(SecondOut).saturating_mul(9)),
        (TWICE, of(SecondOut).saturating_mul(2)),
    ];
    for (size, value) in derived {
        sizes.set(size, value);
    }
}
