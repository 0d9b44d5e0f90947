//! `speech_to_text` (transformers 5.23, `models/speech_to_text`): two convolutions over five
//! places, each with a gate, and blocks.

use crate::models::sound::BIASED;
use crate::models::tower_prelude::*;

/// Numbers of a frame, and channels of a sound.
const BANDS: TowerSize = Own1;
const SOUNDS: TowerSize = Own2;
/// Columns of the first convolution, and of the second one: both halves of a gate.
const CHANNELS: TowerSize = Own3;
const GATED: TowerSize = Own4;
/// Numbers that each convolution reads.
const FIRST: TowerSize = Own5;
const SECOND: TowerSize = Own6;

fn follow(sizes: &mut TowerSizes) {
    product(sizes, FIRST, BANDS, 5 * sizes.get(SOUNDS));
    sizes.set(SECOND, (sizes.get(CHANNELS) / 2).saturating_mul(5));
    product(sizes, GATED, SecondHidden, 2);
}

/// `speech_to_text`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["speech_to_text"],
    groups: &[TowerGroup { path: "", prefix: FURTHER, kinds: &[] }],
    only: &[
        TowerOnly { key: "further_config.num_conv_layers", is: Known::Numbers(&[2]) },
        TowerOnly { key: "further_config.conv_kernel_sizes", is: Known::Numbers(&[5, 5]) },
    ],
    keys: &[
        stated(SecondHidden, "further_config.d_model", 256),
        stated(SecondInner, "further_config.encoder_ffn_dim", 2048),
        stated(SecondLayers, "further_config.encoder_layers", 12),
        stated(BANDS, "further_config.input_feat_per_channel", 80),
        stated(SOUNDS, "further_config.input_channels", 1),
        stated(CHANNELS, "further_config.conv_channels", 1024),
    ],
    follow,
    modules: &TowerModules {
        model_type: "speech_to_text",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", FIRST, CHANNELS),
                    Linear("second convolution", SECOND, GATED),
                ],
            },
            BIASED,
            TowerPart { times: One, layers: &[LayerNorm(SecondHidden)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
