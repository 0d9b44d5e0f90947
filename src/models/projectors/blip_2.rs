//! `blip-2` (transformers 5.23): learned queries that attend to the patches in every second block,
//! and a matrix with a bias.

use crate::models::tower_prelude::*;

/// A block attends to the patches where its number is a multiple of that.
const EVERY: TowerSize = Own1;
/// Width of the patches.
const PATCHES: TowerSize = Own2;
/// Blocks that attend to the patches.
const CROSSED: TowerSize = Own3;
const TEXTS: TowerSize = Own4;

/// `blip-2`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["blip-2"],
    tower: "blip_2_vision_model",
    groups: &[TowerGroup { path: "qformer_config", prefix: FURTHER, kinds: &["blip_2_qformer"] }],
    keys: &[
        stated(Queries, "num_query_tokens", 32),
        stated(SecondHidden, "further_config.hidden_size", 768),
        stated(SecondInner, "further_config.intermediate_size", 3072),
        stated(SecondLayers, "further_config.num_hidden_layers", 12),
        stated(EVERY, "further_config.cross_attention_frequency", 2),
        stated(PATCHES, "further_config.encoder_hidden_size", 1408),
        flag(TEXTS, "further_config.use_qformer_text_input", false),
    ],
    not_looked_at: &["num_attention_heads", "vocab_size", "max_position_embeddings"],
    follow,
    modules: &TowerModules {
        model_type: "blip-2",
        parts: &[
            QUERIES,
            TowerPart { times: One, layers: &[LayerNorm(SecondHidden)] },
            ATTENTION,
            CROSS,
            FEED,
            FEED_TEXT,
            BEHIND,
        ],
        buffers: &[],
    },
    ties: &[("blip-2", Ties::OfText)],
    ..TowerSpec::PLAIN
};

/// Learned queries.
pub const QUERIES: TowerPart =
    TowerPart { times: One, layers: &[Table("queries", Queries, SecondHidden)] };

/// Attention among the queries.
pub const ATTENTION: TowerPart = TowerPart {
    times: SecondLayers,
    layers: &[
        Linear("query", SecondHidden, SecondHidden),
        Linear("key", SecondHidden, SecondHidden),
        Linear("value", SecondHidden, SecondHidden),
        Linear("output", SecondHidden, SecondHidden),
        LayerNorm(SecondHidden),
    ],
};

/// Attention to the patches.
pub const CROSS: TowerPart = TowerPart {
    times: CROSSED,
    layers: &[
        Linear("query", SecondHidden, SecondHidden),
        Linear("key of patches", PATCHES, SecondHidden),
        Linear("value of patches", PATCHES, SecondHidden),
        Linear("output", SecondHidden, SecondHidden),
        LayerNorm(SecondHidden),
    ],
};

/// The feed-forward layers of queries.
pub const FEED: TowerPart = TowerPart { times: SecondLayers, layers: &FEED_LAYERS };

/// The feed-forward layers of texts.
pub const FEED_TEXT: TowerPart = TowerPart { times: TEXTS, layers: &FEED_LAYERS };

const FEED_LAYERS: [TowerLayer; 3] = [
    Linear("up", SecondHidden, SecondInner),
    Linear("down", SecondInner, SecondHidden),
    LayerNorm(SecondHidden),
];

/// The matrix before the text.
pub const BEHIND: TowerPart =
    TowerPart { times: One, layers: &[Linear("projection", SecondHidden, Text)] };

fn follow(sizes: &mut TowerSizes) {
    sizes.set(CROSSED, sizes.get(SecondLayers).div_ceil(sizes.get(EVERY).max(1)));
    sizes.set(TEXTS, sizes.get(TEXTS).saturating_mul(sizes.get(SecondLayers)));
}
