//! `phi4_multimodal` (transformers 5.23): vectors between parts of an image and two matrices behind
//! the vision part; beside it a conformer for sound with two matrices each for sound alone and for
//! sound beside images.

use crate::models::tower_prelude::*;

const CHANNELS: TowerSize = Own1;
const NINE: TowerSize = Own2;
const BANDS: TowerSize = Own3;
const JOINED: TowerSize = Own4;
const DISTANCES: TowerSize = Own5;
const BOTH: TowerSize = Own6;
const KERNEL: TowerSize = Own7;
const SEPARATE: TowerSize = Own8;
const WIDE: TowerSize = Own9;
const TWICE: TowerSize = Own10;
const SOUND: TowerSize = Own11;

/// `phi4_multimodal`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["phi4_multimodal"],
    tower: "phi4_multimodal_vision",
    groups: &[TowerGroup {
        path: "audio_config",
        prefix: FURTHER,
        kinds: &["phi4_multimodal_audio"],
    }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1024),
        stated(SecondInner, "further_config.intermediate_size", 1536),
        stated(SecondLayers, "further_config.num_blocks", 24),
        stated(SecondHeads, "further_config.num_attention_heads", 16),
        stated(CHANNELS, "further_config.nemo_conv_channels", 1024),
        stated(BANDS, "further_config.nemo_final_size", 10),
        stated(DISTANCES, "further_config.bias_max_distance", 1000),
        stated(KERNEL, "further_config.kernel_size", 3),
        stated(SEPARATE, "further_config.depthwise_separable_out_channel", 1024),
        stated(WIDE, "further_config.ext_pw_out_channel", 1024),
        stated(SOUND, "further_config.input_size", 80),
    ],
    only: &[
        TowerOnly { key: "further_config.bias_symmetric", is: Known::Off },
        TowerOnly { key: "further_config.depthwise_multiplier", is: Known::Numbers(&[1]) },
        TowerOnly { key: "further_config.time_reduction", is: Known::Numbers(&[8]) },
        TowerOnly { key: "further_config.downsample_rate", is: Known::Numbers(&[1]) },
    ],
    not_looked_at: &[
        "chunk_size",
        "conv_glu_type",
        "feature_layer",
        "left_chunk",
        "nemo_activation",
    ],
    follow,
    modules: &TowerModules {
        model_type: "phi4_multimodal",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("between parts of an image", Hidden),
                    Vector("between image and parts", Hidden),
                    Linear("projection", Hidden, Text),
                    Linear("second projection", Text, Text),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", NINE, CHANNELS),
                    Linear("second convolution", NINE, CHANNELS),
                    Linear("product behind it", CHANNELS, CHANNELS),
                    Linear("third convolution", NINE, CHANNELS),
                    Linear("product behind it", CHANNELS, CHANNELS),
                    Linear("output of convolutions", JOINED, SecondHidden),
                    Table("biases of distances", DISTANCES, SecondHeads),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    LayerNorm(SecondHidden),
                    Linear("gate and up before attention", SecondHidden, BOTH),
                    Linear("down before attention", SecondInner, SecondHidden),
                    Linear("query", SecondHidden, SecondHidden),
                    Linear("key", SecondHidden, SecondHidden),
                    Linear("value", SecondHidden, SecondHidden),
                    Linear("output", SecondHidden, SecondHidden),
                    LayerNorm(SecondHidden),
                    Vector("bias of a gate", WIDE),
                    Vector("second bias of a gate", WIDE),
                    Linear("product before the convolution", SecondHidden, TWICE),
                    Linear("convolution of sound", KERNEL, SecondHidden),
                    Linear("product of the convolution", SecondHidden, SEPARATE),
                    Linear("product behind the convolution", SecondHidden, WIDE),
                    LayerNorm(SecondHidden),
                    Linear("gate and up", SecondHidden, BOTH),
                    Linear("down", SecondInner, SecondHidden),
                    LayerNorm(SecondHidden),
                    LayerNorm(SecondHidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    Linear("projection of sound", SecondHidden, Text),
                    Linear("second projection of sound", Text, Text),
                    Linear("projection of sound beside images", SecondHidden, Text),
                    Linear("second projection of sound beside images", Text, Text),
                ],
            },
        ],
        // Each band's mean and how far it strays.
        buffers: &[TowerBuffer::Pair(SOUND)],
    },
    ..TowerSpec::PLAIN
};

/// A convolution sees nine places; distances count to either side.
fn follow(sizes: &mut TowerSizes) {
    sizes.set(NINE, 9);
    product(sizes, JOINED, CHANNELS, sizes.get(BANDS));
    product(sizes, DISTANCES, DISTANCES, 2);
    product(sizes, BOTH, SecondInner, 2);
    product(sizes, TWICE, WIDE, 2);
}
