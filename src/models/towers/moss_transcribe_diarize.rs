//! `moss_transcribe_diarize` (transformers 5.23, `models/moss_transcribe_diarize`): Whisper's
//! encoder for sound; a projector of two matrices and a norm reads some frames at once.

use crate::models::sound::{BANDS, BLOCKS, CONVOLUTIONS, HEARD, PLACES, three_places};
use crate::models::tower_prelude::*;

fn follow(sizes: &mut TowerSizes) {
    three_places(sizes);
    product(sizes, MERGED, SecondHidden, 4);
}

/// Width of the frames that are read at once.
const MERGED: TowerSize = Own4;
/// True if the projector has biases.
const PROJECTED: TowerSize = Own5;

/// `moss_transcribe_diarize`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["moss_transcribe_diarize"],
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &[] }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1024),
        stated(SecondInner, "further_config.intermediate_size", 4096),
        stated(SecondLayers, "further_config.num_hidden_layers", 24),
        stated(BANDS, "further_config.num_mel_bins", 80),
        stated(PLACES, "further_config.max_source_positions", 1500),
        flag(PROJECTED, "projector_bias", true),
    ],
    not_looked_at: &["num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "moss_transcribe_diarize",
        parts: &[
            HEARD,
            CONVOLUTIONS,
            BLOCKS,
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(SecondHidden),
                    Matrix("projection", MERGED, Text),
                    Matrix("second projection", Text, Text),
                    LayerNorm(Text),
                ],
            },
            TowerPart {
                times: PROJECTED,
                layers: &[Vector("projection bias", Text), Vector("second projection bias", Text)],
            },
        ],
        buffers: &[],
    },
    ties: &[("moss_transcribe_diarize", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
