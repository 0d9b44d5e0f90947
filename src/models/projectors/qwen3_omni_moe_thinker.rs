//! `qwen3_omni_moe_thinker` (transformers 5.23): a tower for sound, beside that for images which
//! ends in the width of the text. Sound goes through three convolutions over bands and time into
//! the blocks of a transformer.

use crate::models::sound::{BANDS, CHANNELS, OVER_BANDS, PLACES, halved_bands};
use crate::models::tower_prelude::*;

/// `qwen3_omni_moe_thinker`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["qwen3_omni_moe_thinker"],
    tower: "qwen3_omni_moe_vision_encoder",
    groups: &[TowerGroup {
        path: "audio_config",
        prefix: FURTHER,
        kinds: &["qwen3_omni_moe_audio_encoder"],
    }],
    keys: &[
        stated(SecondHidden, "further_config.d_model", 1280),
        stated(SecondInner, "further_config.encoder_ffn_dim", 5120),
        stated(SecondLayers, "further_config.encoder_layers", 32),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(PLACES, "further_config.max_source_positions", 1500),
        stated(SecondOut, "further_config.output_dim", 3584),
        stated(CHANNELS, "further_config.downsample_hidden_size", 480),
    ],
    not_looked_at: &["encoder_attention_heads", "n_window", "n_window_infer", "conv_chunksize"],
    follow: halved_bands,
    modules: &TowerModules {
        model_type: "qwen3_omni_moe_thinker",
        parts: &OVER_BANDS,
        buffers: &[TowerBuffer::Table(PLACES, SecondHidden)],
    },
    ties: &[("qwen3_omni_moe_thinker", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};
