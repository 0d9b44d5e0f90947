//! Parts of encoders for sound (transformers 5.23), which several models have before their text.

use super::tower_prelude::*;

/// Bands of a spectrum; where a convolution reads three places, three times each.
pub const BANDS: TowerSize = Own1;
/// Rows of the table of positions.
pub const PLACES: TowerSize = Own2;
/// Numbers that a convolution over three places reads.
pub const THREE: TowerSize = Own3;

/// The tower hears: sound comes in.
pub const HEARD: TowerPart = TowerPart { times: One, layers: &[Runs(&[Step::Heard])] };

/// Whisper's two convolutions over three places, and positions (`models/whisper`).
pub const CONVOLUTIONS: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("convolution", BANDS, SecondHidden),
        Linear("second convolution", THREE, SecondHidden),
        Table("positions of sound", PLACES, SecondHidden),
    ],
};

/// Whisper's blocks, whose keys are made by a layer of that kind.
macro_rules! blocks {
    ($key:ident) => {
        TowerPart {
            times: SecondLayers,
            layers: &[
                $key("key", SecondHidden, SecondHidden),
                Linear("value", SecondHidden, SecondHidden),
                Linear("query", SecondHidden, SecondHidden),
                Linear("output", SecondHidden, SecondHidden),
                LayerNorm(SecondHidden),
                Linear("up", SecondHidden, SecondInner),
                Linear("down", SecondInner, SecondHidden),
                LayerNorm(SecondHidden),
            ],
        }
    };
}

/// Whisper's blocks: keys have no bias.
pub const BLOCKS: TowerPart = blocks!(Matrix);

/// Blocks with biases everywhere.
pub const BIASED: TowerPart = blocks!(Linear);

/// A convolution reads three places.
pub fn three_places(sizes: &mut TowerSizes) {
    product(sizes, BANDS, BANDS, 3);
    product(sizes, THREE, SecondHidden, 3);
}

/// Channels of convolutions over bands and time.
pub const CHANNELS: TowerSize = Own4;
const NINE: TowerSize = Own3;
const INPUT: TowerSize = Own5;
const JOINED: TowerSize = Own6;

/// Blocks behind convolutions over bands and time, and these with the projection
/// (`models/qwen3_omni_moe`, `models/qwen3_asr`).
pub const OVER_BANDS: [TowerPart; 2] = [
    BIASED,
    TowerPart {
        times: One,
        layers: &[
            LayerNorm(SecondHidden),
            Linear("convolution", NINE, CHANNELS),
            Linear("second convolution", INPUT, CHANNELS),
            Linear("third convolution", INPUT, CHANNELS),
            Matrix("output of convolutions", JOINED, SecondHidden),
            Linear("projection", SecondHidden, SecondHidden),
            Linear("second projection", SecondHidden, SecondOut),
        ],
    },
];

/// Every convolution over bands and time halves the bands.
pub fn halved_bands(sizes: &mut TowerSizes) {
    let bands = sizes.get(BANDS).div_ceil(2).div_ceil(2).div_ceil(2);
    product(sizes, JOINED, CHANNELS, bands);
    product(sizes, INPUT, CHANNELS, 9);
    sizes.set(NINE, 9);
}
