//! `voxtral` (transformers 5.23, `models/voxtral`): Whisper's encoder for sound; a projector reads
//! some frames at once.

use crate::models::sound::{BANDS, BLOCKS, CONVOLUTIONS, HEARD, PLACES, three_places};
use crate::models::tower_prelude::*;

/// `voxtral`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["voxtral"],
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &[] }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1280),
        stated(SecondInner, "further_config.intermediate_size", 5120),
        stated(SecondLayers, "further_config.num_hidden_layers", 32),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(PLACES, "further_config.max_source_positions", 1500),
    ],
    not_looked_at: &["num_attention_heads", "vocab_size"],
    follow: three_places,
    modules: &TowerModules {
        model_type: "voxtral",
        parts: &[
            HEARD,
            CONVOLUTIONS,
            BLOCKS,
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(SecondHidden),
                    Matrix("projection", SecondInner, Text),
                    Matrix("second projection", Text, Text),
                ],
            },
        ],
        buffers: &[],
    },
    // The class of whole files names no weights to tie.
    ties: &[("voxtral", Ties::Never)],
    ..TowerSpec::PLAIN
};
