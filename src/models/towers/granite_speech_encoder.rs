//! `granite_speech_encoder` (transformers 5.23, `models/granite_speech`): a conformer, whose blocks
//! have a feed-forward layer on both sides and a convolution between.

use crate::models::sound::HEARD;
use crate::models::tower_prelude::*;

/// Bands of a frame.
const BANDS: TowerSize = Own7;
/// Width of all heads, of keys and values together, and of one head.
const WIDE_HEADS: TowerSize = Own8;
const BOTH: TowerSize = Own9;
const HEAD: TowerSize = Own10;
/// Distances that have an embedding.
const DISTANCES: TowerSize = Own11;
/// Width inside the convolution, twice that, and places that it sees.
const CONVOLVED: TowerSize = Own12;
const GATED: TowerSize = Own13;
const PLACES: TowerSize = Own14;
/// Classes of sounds.
const CLASSES: TowerSize = Own15;

/// `granite_speech_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["granite_speech_encoder", "granite_speech_plus_encoder"],
    groups: &[TowerGroup { path: "encoder_config", prefix: VISION, kinds: &[] }],
    only: &[TowerOnly { key: "vision_config.cat_hidden_layers", is: Known::Off }],
    keys: &[
        stated(Hidden, "vision_config.hidden_dim", 1024),
        stated(Inner, "vision_config.feedforward_mult", 4),
        stated(Layers, "vision_config.num_layers", 10),
        stated(Heads, "vision_config.num_heads", 8),
        stated(HEAD, "vision_config.dim_head", 128),
        stated(BANDS, "vision_config.input_dim", 160),
        stated(DISTANCES, "vision_config.max_pos_emb", 512),
        stated(CONVOLVED, "vision_config.conv_expansion_factor", 2),
        stated(PLACES, "vision_config.conv_kernel_size", 15),
        stated(CLASSES, "vision_config.output_dim", 42),
    ],
    not_looked_at: &["context_size"],
    follow,
    modules: &TowerModules {
        model_type: "granite_speech_encoder",
        parts: &[
            HEARD,
            TowerPart { times: One, layers: &[Linear("input", BANDS, Hidden)] },
            BLOCKS_OF_SOUND,
            TowerPart {
                times: One,
                layers: &[
                    Linear("classes", Hidden, CLASSES),
                    Linear("of classes", CLASSES, Hidden),
                ],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// A block of a conformer.
const BLOCKS_OF_SOUND: TowerPart = TowerPart {
    times: Layers,
    layers: &[
        LayerNorm(Hidden),
        Linear("first up", Hidden, Inner),
        Linear("first down", Inner, Hidden),
        LayerNorm(Hidden),
        Matrix("query", Hidden, WIDE_HEADS),
        Matrix("key and value", Hidden, BOTH),
        Linear("output", WIDE_HEADS, Hidden),
        Table("embedding of distances", DISTANCES, HEAD),
        LayerNorm(Hidden),
        Linear("convolution up", Hidden, GATED),
        Matrix("convolution", PLACES, CONVOLVED),
        LayerNorm(CONVOLVED),
        Linear("convolution down", CONVOLVED, Hidden),
        LayerNorm(Hidden),
        Linear("second up", Hidden, Inner),
        Linear("second down", Inner, Hidden),
        LayerNorm(Hidden),
    ],
};

fn follow(sizes: &mut TowerSizes) {
    let (hidden, heads) = (sizes.get(Hidden), sizes.get(Heads));
    product(sizes, Inner, Inner, hidden);
    product(sizes, WIDE_HEADS, HEAD, heads);
    product(sizes, BOTH, WIDE_HEADS, 2);
    sizes.set(DISTANCES, sizes.get(DISTANCES).saturating_mul(2).saturating_add(1));
    product(sizes, CONVOLVED, CONVOLVED, hidden);
    product(sizes, GATED, CONVOLVED, 2);
}
