//! `qwen2_audio` (transformers 5.23, `models/qwen2_audio`): Whisper's encoder for sound, and a matrix into the width of the text.

use crate::models::tower_prelude::*;

/// Bands of a spectrum, three times each.
pub const BANDS: TowerSize = Own1;
/// Rows of the table of positions.
pub const PLACES: TowerSize = Own2;
/// Numbers that a convolution over three places reads.
pub const THREE: TowerSize = Own3;

/// A convolution reads three places.
pub fn follow(sizes: &mut TowerSizes) {
    product(sizes, BANDS, BANDS, 3);
    product(sizes, THREE, SecondHidden, 3);
}

/// Blocks of a transformer for sound: its keys have no bias.
pub const SOUND_BLOCKS: TowerPart = TowerPart {
    times: SecondLayers,
    layers: &[
        Matrix("key", SecondHidden, SecondHidden),
        Linear("value", SecondHidden, SecondHidden),
        Linear("query", SecondHidden, SecondHidden),
        Linear("output", SecondHidden, SecondHidden),
        LayerNorm(SecondHidden),
        Linear("up", SecondHidden, SecondInner),
        Linear("down", SecondInner, SecondHidden),
        LayerNorm(SecondHidden),
    ],
};

/// `qwen2_audio`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["qwen2_audio"],
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &[] }],
    keys: &[
        stated(SecondHidden, "further_config.d_model", 1280),
        stated(SecondInner, "further_config.encoder_ffn_dim", 5120),
        stated(SecondLayers, "further_config.encoder_layers", 32),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(PLACES, "further_config.max_source_positions", 1500),
    ],
    not_looked_at: &["encoder_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "qwen2_audio",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", BANDS, SecondHidden),
                    Linear("second convolution", THREE, SecondHidden),
                    Table("positions of sound", PLACES, SecondHidden),
                ],
            },
            SOUND_BLOCKS,
            TowerPart { times: One, layers: &[LayerNorm(SecondHidden), Linear("projection", SecondHidden, Text)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
