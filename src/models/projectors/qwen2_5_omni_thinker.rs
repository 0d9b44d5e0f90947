//! `qwen2_5_omni_thinker` (transformers 5.23): a tower for sound, beside that for images which ends
//! in the width of the text. Sound goes through two convolutions into the blocks of a transformer.

use crate::models::sound::{BANDS, BLOCKS, PLACES, THREE, three_places};
use crate::models::tower_prelude::*;

const MARKS: TowerSize = Own4;

/// `qwen2_5_omni_thinker`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["qwen2_5_omni_thinker"],
    tower: "qwen2_5_omni_vision_encoder",
    groups: &[TowerGroup {
        path: "audio_config",
        prefix: FURTHER,
        kinds: &["qwen2_5_omni_audio_encoder"],
    }],
    keys: &[
        stated(SecondHidden, "further_config.d_model", 1280),
        stated(SecondInner, "further_config.encoder_ffn_dim", 5120),
        stated(SecondLayers, "further_config.encoder_layers", 32),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(PLACES, "further_config.max_source_positions", 1500),
        stated(SecondOut, "further_config.output_dim", 3584),
    ],
    not_looked_at: &["encoder_attention_heads", "n_window"],
    follow,
    modules: &TowerModules {
        model_type: "qwen2_5_omni_thinker",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", BANDS, SecondHidden),
                    Linear("second convolution", THREE, SecondHidden),
                    Table("begin and end of sound", MARKS, SecondOut),
                ],
            },
            BLOCKS,
            TowerPart {
                times: One,
                layers: &[LayerNorm(SecondHidden), Linear("projection", SecondHidden, SecondOut)],
            },
        ],
        buffers: &[TowerBuffer::Table(PLACES, SecondHidden)],
    },
    ties: &[("qwen2_5_omni_thinker", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    three_places(sizes);
    sizes.set(MARKS, 2);
}
