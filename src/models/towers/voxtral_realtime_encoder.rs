//! `voxtral_realtime_encoder` (transformers 5.23, `models/voxtral_realtime`): two convolutions over
//! three places, blocks with RMS norms and a gate, and a projector that reads some frames at once.

use crate::models::sound::{BANDS, THREE, three_places};
use crate::models::tower_prelude::*;

const HEAD: TowerSize = Own4;
const QUERY: TowerSize = Own5;
const KEY: TowerSize = Own6;
/// Frames that the projector reads at once, and their width.
const TOGETHER: TowerSize = Own7;
const MERGED: TowerSize = Own8;

fn follow(sizes: &mut TowerSizes) {
    three_places(sizes);
    let (head, heads) = (sizes.get(HEAD), sizes.get(SecondHeads));
    let keys = if sizes.get(KeyHeads) == 0 { heads } else { sizes.get(KeyHeads) };
    sizes.set(QUERY, heads.saturating_mul(head));
    sizes.set(KEY, keys.saturating_mul(head));
    product(sizes, MERGED, SecondHidden, sizes.get(TOGETHER));
}

/// `voxtral_realtime_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["voxtral_realtime"],
    groups: &[
        TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &["voxtral_realtime_encoder"] },
        TowerGroup { path: "", prefix: VISION, kinds: &[] },
    ],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1280),
        stated(SecondInner, "further_config.intermediate_size", 5120),
        stated(SecondLayers, "further_config.num_hidden_layers", 32),
        stated(SecondHeads, "further_config.num_attention_heads", 32),
        maybe(KeyHeads, "further_config.num_key_value_heads", 0),
        stated(HEAD, "further_config.head_dim", 64),
        stated(BANDS, "further_config.num_mel_bins", 128),
        stated(TOGETHER, "vision_config.downsample_factor", 4),
    ],
    not_looked_at: &["vocab_size", "max_position_embeddings", "sliding_window"],
    follow,
    modules: &TowerModules {
        model_type: "voxtral_realtime_encoder",
        parts: &[
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
                    Linear("query", SecondHidden, QUERY),
                    Matrix("key", SecondHidden, KEY),
                    Linear("value", SecondHidden, KEY),
                    Linear("output", QUERY, SecondHidden),
                    RmsNorm(SecondHidden),
                    RmsNorm(SecondHidden),
                    Matrix("gate", SecondHidden, SecondInner),
                    Matrix("up", SecondHidden, SecondInner),
                    Linear("down", SecondInner, SecondHidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    RmsNorm(SecondHidden),
                    Matrix("projection", MERGED, Text),
                    Matrix("second projection", Text, Text),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("voxtral_realtime", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
