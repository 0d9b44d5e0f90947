//! `qwen3_asr` (transformers 5.23, `models/qwen3_asr`): sound goes through three convolutions over bands and time into the blocks of a
//! transformer.

use crate::models::tower_prelude::*;

const BANDS: TowerSize = Own1;
const NINE: TowerSize = Own3;
const CHANNELS: TowerSize = Own4;
const INPUT: TowerSize = Own5;
const JOINED: TowerSize = Own6;

/// `qwen3_asr`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["qwen3_asr"],
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &["qwen3_asr_encoder"] }],
    keys: &[
        stated(SecondHidden, "further_config.d_model", 1024),
        stated(SecondInner, "further_config.encoder_ffn_dim", 4096),
        stated(SecondLayers, "further_config.encoder_layers", 24),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(SecondOut, "further_config.output_dim", 3584),
        stated(CHANNELS, "further_config.downsample_hidden_size", 480),
    ],
    not_looked_at: &[
        "encoder_attention_heads",
        "n_window",
        "n_window_infer",
        "max_position_embeddings",
        "token_classification_bias",
    ],
    follow,
    modules: &TowerModules {
        model_type: "qwen3_asr",
        parts: &[
            TowerPart {
                times: SecondLayers,
                layers: &[
                    Linear("key", SecondHidden, SecondHidden),
                    Linear("value", SecondHidden, SecondHidden),
                    Linear("query", SecondHidden, SecondHidden),
                    Linear("output", SecondHidden, SecondHidden),
                    LayerNorm(SecondHidden),
                    Linear("up", SecondHidden, SecondInner),
                    Linear("down", SecondInner, SecondHidden),
                    LayerNorm(SecondHidden),
                ],
            },
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
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// Every convolution halves the bands.
fn follow(sizes: &mut TowerSizes) {
    let bands = sizes.get(BANDS).div_ceil(2).div_ceil(2).div_ceil(2);
    product(sizes, JOINED, CHANNELS, bands);
    product(sizes, INPUT, CHANNELS, 9);
    sizes.set(NINE, 9);
}
