//! `audioflamingo3` (transformers 5.23, `models/audioflamingo3`): Whisper's encoder for sound, and
//! two matrices into the width of the text.

use crate::models::sound::{BANDS, BLOCKS, CONVOLUTIONS, HEARD, PLACES, three_places};
use crate::models::tower_prelude::*;

/// True if the projector has biases.
const PROJECTED: TowerSize = Own4;

/// `audioflamingo3`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["audioflamingo3"],
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &[] }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1280),
        stated(SecondInner, "further_config.intermediate_size", 5120),
        stated(SecondLayers, "further_config.num_hidden_layers", 32),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(PLACES, "further_config.max_source_positions", 1500),
        flag(PROJECTED, "projector_bias", true),
    ],
    not_looked_at: &["num_attention_heads"],
    follow: three_places,
    modules: &TowerModules {
        model_type: "audioflamingo3",
        parts: &[
            HEARD,
            CONVOLUTIONS,
            BLOCKS,
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(SecondHidden),
                    Matrix("projection", SecondHidden, Text),
                    Matrix("second projection", Text, Text),
                ],
            },
            TowerPart {
                times: PROJECTED,
                layers: &[Vector("projection bias", Text), Vector("second projection bias", Text)],
            },
        ],
        buffers: &[],
    },
    // The class of whole files names no weights to tie.
    ties: &[("audioflamingo3", Ties::Never)],
    ..TowerSpec::PLAIN
};
