//! `glmasr` (transformers 5.23, `models/glmasr`): Whisper's encoder for sound with rotary
//! positions; a projector of two matrices reads some frames at once.

use crate::models::sound::{BANDS, HEARD, THREE, three_places};
use crate::models::tower_prelude::*;

fn follow(sizes: &mut TowerSizes) {
    three_places(sizes);
    product(sizes, WIDE, Text, 2);
    let head = sizes.get(SecondHidden) / sizes.get(SecondHeads).max(1);
    product(sizes, KEYS, KEYS, head);
}

/// Width between the projector's matrices.
const WIDE: TowerSize = Own4;
/// Key/value heads, and then their width together.
const KEYS: TowerSize = Own5;

/// `glmasr`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["glmasr"],
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &[] }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1280),
        stated(SecondInner, "further_config.intermediate_size", 5120),
        stated(SecondLayers, "further_config.num_hidden_layers", 32),
        stated(SecondHeads, "further_config.num_attention_heads", 20),
        stated(KEYS, "further_config.num_key_value_heads", 20),
        stated(BANDS, "further_config.num_mel_bins", 128),
    ],
    not_looked_at: &["max_position_embeddings"],
    follow,
    modules: &TowerModules {
        model_type: "glmasr",
        parts: &[
            HEARD,
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", BANDS, SecondHidden),
                    Linear("second convolution", THREE, SecondHidden),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    Linear("query", SecondHidden, SecondHidden),
                    Matrix("key", SecondHidden, KEYS),
                    Linear("value", SecondHidden, KEYS),
                    Linear("output", SecondHidden, SecondHidden),
                    Linear("up", SecondHidden, SecondInner),
                    Linear("down", SecondInner, SecondHidden),
                    LayerNorm(SecondHidden),
                    LayerNorm(SecondHidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(SecondHidden),
                    Linear("projection", SecondInner, WIDE),
                    Linear("second projection", WIDE, Text),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("glmasr", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
