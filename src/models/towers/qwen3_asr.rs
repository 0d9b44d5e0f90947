//! `qwen3_asr` (transformers 5.23, `models/qwen3_asr`): sound goes through three convolutions over
//! bands and time into the blocks of a transformer.

use crate::models::sound::{BANDS, CHANNELS, HEARD, OVER_BANDS, halved_bands};
use crate::models::tower_prelude::*;

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
    follow: halved_bands,
    modules: &TowerModules {
        model_type: "qwen3_asr",
        parts: &[HEARD, OVER_BANDS[0], OVER_BANDS[1]],
        buffers: &[],
    },
    ties: &[("qwen3_asr", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
