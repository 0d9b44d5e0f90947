//! `mimi` (transformers 5.23, `models/mimi`): the codec of `kyutai_speech_to_text`. Convolutions
//! and blocks make codes of sound, and sound of codes.

use crate::models::tower_prelude::*;

/// Parameters of all convolutions, and blocks on both sides.
const CONVOLUTIONS: TowerSize = Own1;
const BOTH: TowerSize = Own2;

/// Steps of the convolutions, from sound to codes.
const STEPS: [u64; 4] = [4, 5, 6, 8];
const WIDTH: u64 = 512;

/// Two convolutions over three places and one, with half the width between, and one over twice the
/// step to another width.
fn convolutions(sound_to_codes: bool) -> u64 {
    let mut parameters = 0;
    let mut width = 64;
    for step in STEPS {
        let wide = if sound_to_codes { 2 * width } else { width };
        parameters += width / 2 * width * 4 + width / 2 + width;
        parameters += width * 2 * width * 2 * step + wide;
        width *= 2;
    }
    let (first, last) = if sound_to_codes {
        (7 * 64 + 64, 3 * 1024 * WIDTH + WIDTH)
    } else {
        (3 * 64 + 1, 7 * 1024 * WIDTH + 1024)
    };
    // To half as many moments, by a matrix; back by one vector for each.
    let resampled = if sound_to_codes { 4 * WIDTH * WIDTH } else { 4 * WIDTH };
    parameters + first + last + resampled
}

fn follow(sizes: &mut TowerSizes) {
    let codes = 4 * 256 * WIDTH;
    sizes.set(CONVOLUTIONS, convolutions(true) + convolutions(false) + codes);
    product(sizes, BOTH, SecondLayers, 2);
    sizes.set(SecondHidden, WIDTH);
}

const fn is(key: &'static str, numbers: &'static [u64]) -> TowerOnly {
    TowerOnly { key, is: Known::Numbers(numbers) }
}

/// `mimi`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["kyutai_speech_to_text"],
    groups: &[TowerGroup { path: "codec_config", prefix: FURTHER, kinds: &["mimi"] }],
    only: &[
        is("further_config.hidden_size", &[WIDTH]),
        is("further_config.num_attention_heads", &[8]),
        is("further_config.num_key_value_heads", &[8]),
        is("further_config.head_dim", &[64]),
        is("further_config.num_filters", &[64]),
        is("further_config.upsampling_ratios", &[8, 6, 5, 4]),
        is("further_config.upsample_groups", &[512]),
        is("further_config.kernel_size", &[7]),
        is("further_config.last_kernel_size", &[3]),
        is("further_config.residual_kernel_size", &[3]),
        is("further_config.num_residual_layers", &[1]),
        is("further_config.compress", &[2]),
        is("further_config.audio_channels", &[1]),
        is("further_config.vector_quantization_hidden_dimension", &[256]),
        is("further_config.codebook_dim", &[256]),
        is("further_config.sampling_rate", &[24_000]),
        TowerOnly { key: "further_config.attention_bias", is: Known::Off },
        TowerOnly { key: "further_config.use_conv_shortcut", is: Known::Off },
        TowerOnly { key: "further_config._frame_rate", is: Known::Off },
        TowerOnly { key: "further_config.frame_rate", is: Known::Off },
    ],
    keys: &[
        stated(SecondInner, "further_config.intermediate_size", 2048),
        stated(SecondLayers, "further_config.num_hidden_layers", 8),
    ],
    not_looked_at: &[
        "codebook_size",
        "num_quantizers",
        "num_semantic_quantizers",
        "max_position_embeddings",
        "sliding_window",
        "dilation_growth_rate",
        "trim_right_ratio",
        "layer_scale_initial_scale",
    ],
    follow,
    modules: &TowerModules {
        model_type: "mimi",
        parts: &[
            TowerPart { times: One, layers: &[Vector("convolutions of the codec", CONVOLUTIONS)] },
            TowerPart {
                times: BOTH,
                layers: &[
                    Matrix("query", SecondHidden, SecondHidden),
                    Matrix("key", SecondHidden, SecondHidden),
                    Matrix("value", SecondHidden, SecondHidden),
                    Matrix("output", SecondHidden, SecondHidden),
                    Matrix("up", SecondHidden, SecondInner),
                    Matrix("down", SecondInner, SecondHidden),
                    LayerNorm(SecondHidden),
                    LayerNorm(SecondHidden),
                    Vector("scale of attention", SecondHidden),
                    Vector("scale of the feed-forward layer", SecondHidden),
                ],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
