//! `qwen2_audio` (transformers 5.23, `models/qwen2_audio`): Whisper's encoder for sound, and a
//! matrix into the width of the text.

use crate::models::sound::{BANDS, BLOCKS, CONVOLUTIONS, HEARD, PLACES, three_places};
use crate::models::tower_prelude::*;

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
    follow: three_places,
    modules: &TowerModules {
        model_type: "qwen2_audio",
        parts: &[
            HEARD,
            CONVOLUTIONS,
            BLOCKS,
            TowerPart {
                times: One,
                layers: &[LayerNorm(SecondHidden), Linear("projection", SecondHidden, Text)],
            },
        ],
        buffers: &[],
    },
    // The class of whole files names no weights to tie.
    ties: &[("qwen2_audio", Ties::Never)],
    ..TowerSpec::PLAIN
};
