//! `dots3_note` (transformers 5.23): beside the vision part, which ends in the width of the text, a
//! tower for sound: three convolutions over bands and time, and rotated blocks with gated
//! feed-forward layers.

use crate::models::tower_prelude::*;

const CHANNELS: TowerSize = Own7;
const BANDS: TowerSize = Own8;
const NINE: TowerSize = Own9;
const INPUT: TowerSize = Own10;
const JOINED: TowerSize = Own11;
const BOTH: TowerSize = Own12;

/// `dots3_note`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["dots3_note"],
    tower: "dots3_note_vision_encoder",
    groups: &[TowerGroup {
        path: "audio_config",
        prefix: FURTHER,
        kinds: &["dots3_note_audio_encoder"],
    }],
    keys: &[
        stated(SecondHeads, "further_config.num_attention_heads", 20),
        stated(SecondHidden, "further_config.hidden_size", 1280),
        stated(SecondInner, "further_config.intermediate_size", 5120),
        stated(SecondLayers, "further_config.num_hidden_layers", 32),
        stated(CHANNELS, "further_config.downsample_hidden_size", 480),
        stated(BANDS, "further_config.feature_size", 128),
        stated(SecondOut, "further_config.adapter_out_dim", 5120),
    ],
    only: &[
        TowerOnly { key: "further_config.attention_bias", is: Known::Numbers(&[1]) },
        TowerOnly { key: "further_config.whisper_config", is: Known::Off },
    ],
    not_looked_at: &[
        "adapter_input_size",
        "conv_output_size",
        "head_dim",
        "num_key_value_heads",
        "samples_per_token",
        "max_position_embeddings",
    ],
    follow,
    modules: &TowerModules {
        model_type: "dots3_note",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", NINE, CHANNELS),
                    Linear("second convolution", INPUT, CHANNELS),
                    Linear("third convolution", INPUT, CHANNELS),
                    Matrix("output of convolutions", JOINED, SecondHidden),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    Linear("query", SecondHidden, SecondHidden),
                    Matrix("key", SecondHidden, SecondHidden),
                    Linear("value", SecondHidden, SecondHidden),
                    Linear("output", SecondHidden, SecondHidden),
                    RmsNorm(SecondHidden),
                    Linear("gate and up", SecondHidden, BOTH),
                    Linear("down", SecondInner, SecondHidden),
                    RmsNorm(SecondHidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    RmsNorm(SecondHidden),
                    LayerNorm(SecondHidden),
                    Linear("projection", SecondHidden, SecondOut),
                    Linear("second projection", SecondOut, SecondOut),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("dots3_note", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};

/// A convolution sees three bands over three moments, and each halves the bands.
fn follow(sizes: &mut TowerSizes) {
    sizes.set(NINE, 9);
    product(sizes, INPUT, CHANNELS, 9);
    product(sizes, JOINED, CHANNELS, sizes.get(BANDS).div_ceil(8));
    product(sizes, BOTH, SecondInner, 2);
}
