//! `gemma4` (transformers 5.23): a matrix into the text's width for images, and for sound, where
//! the file has a part for it, a conformer behind two convolutions.

use crate::models::tower_prelude::*;

/// There is a part for sound.
const HEARS: TowerSize = Own3;
/// Width of a head, twice the hidden size, and taps of a block's convolution.
const HEAD: TowerSize = Own4;
const TWICE: TowerSize = Own5;
const TAPS: TowerSize = Own6;
/// Columns of both convolutions, what each reads, and what is left of a frame behind them.
const FIRST: TowerSize = Own7;
const SECOND: TowerSize = Own8;
const INTO_FIRST: TowerSize = Own9;
const INTO_SECOND: TowerSize = Own10;
const FRAME: TowerSize = Own11;

/// `gemma4`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["gemma4"],
    tower: "gemma4_vision",
    may_be_blind: true,
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &["gemma4_audio"] }],
    only: &[TowerOnly {
        key: "further_config.subsampling_conv_channels",
        is: Known::Numbers(&[128, 32]),
    }],
    keys: &[
        TowerKey { size: HEARS, key: "audio_config", default: TowerDefault::There },
        stated(SecondHidden, "further_config.hidden_size", 1024),
        stated(SecondLayers, "further_config.num_hidden_layers", 12),
        stated(SecondHeads, "further_config.num_attention_heads", 8),
        stated(TAPS, "further_config.conv_kernel_size", 5),
        stated(SecondOut, "further_config.output_proj_dims", 1536),
    ],
    // How far a frame looks.
    not_looked_at: &["attention_chunk_size", "attention_context_left", "attention_context_right"],
    follow,
    modules: &TowerModules {
        model_type: "gemma4",
        parts: &[
            TowerPart { times: One, layers: &[Matrix("projection", Hidden, Text)] },
            TowerPart {
                times: HEARS,
                layers: &[
                    Matrix("convolution over frames", INTO_FIRST, FIRST),
                    Vector("norm", FIRST),
                    Matrix("second convolution over frames", INTO_SECOND, SECOND),
                    Vector("second norm", SECOND),
                    Matrix("frames", FRAME, SecondHidden),
                    Linear("output of sound", SecondHidden, SecondOut),
                    Matrix("projection of sound", SecondOut, Text),
                ],
            },
            FEED_FORWARD,
            FEED_FORWARD,
            TowerPart {
                times: SecondLayers,
                layers: &[
                    RmsNorm(SecondHidden),
                    RmsNorm(SecondHidden),
                    Matrix("query of sound", SecondHidden, SecondHidden),
                    Matrix("key of sound", SecondHidden, SecondHidden),
                    Matrix("value of sound", SecondHidden, SecondHidden),
                    Matrix("output of attention", SecondHidden, SecondHidden),
                    Matrix("key of distances", SecondHidden, SecondHidden),
                    Vector("scale of a head", HEAD),
                    RmsNorm(SecondHidden),
                    Matrix("into the convolution", SecondHidden, TWICE),
                    Table("convolution", TAPS, SecondHidden),
                    RmsNorm(SecondHidden),
                    Matrix("out of the convolution", SecondHidden, SecondHidden),
                    RmsNorm(SecondHidden),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("gemma4", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

/// Half a feed-forward layer, with a norm on either side.
const FEED_FORWARD: TowerPart = TowerPart {
    times: SecondLayers,
    layers: &[
        RmsNorm(SecondHidden),
        Matrix("up of sound", SecondHidden, SecondInner),
        Matrix("down of sound", SecondInner, SecondHidden),
        RmsNorm(SecondHidden),
    ],
};

fn follow(sizes: &mut TowerSizes) {
    let of = |size| sizes.get(size);
    let (hidden, heads, hears) = (of(SecondHidden), of(SecondHeads), of(HEARS));
    sizes.set(HEAD, hidden / heads.max(1));
    sizes.set(SecondLayers, of_sound(hears, sizes.get(SecondLayers)));
    product(sizes, TWICE, SecondHidden, 2);
    product(sizes, SecondInner, SecondHidden, 4);
    for (size, number) in
        [(FIRST, 128), (SECOND, 32), (INTO_FIRST, 9), (INTO_SECOND, 9 * 128), (FRAME, 128 / 4 * 32)]
    {
        sizes.set(size, number);
    }
}

/// So many where there is sound.
const fn of_sound(hears: u64, layers: u64) -> u64 {
    if hears == 0 { 0 } else { layers }
}
