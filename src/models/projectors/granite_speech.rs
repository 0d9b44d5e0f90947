//! `granite_speech` (transformers 5.23, `models/granite_speech`): learned queries that read what a
//! conformer makes of a window of sound.

use super::blip_2::{ATTENTION, BEHIND, CROSS, FEED, QUERIES};
use crate::models::tower_prelude::*;

/// A block of the queries attends to sound where its number is a multiple of that.
const EVERY: TowerSize = Own1;
/// Width of sound as the queries see it.
const SEEN: TowerSize = Own2;
/// Blocks that attend to sound.
const CROSSED: TowerSize = Own3;
/// Frames of a window, and those that a query stands for.
const WINDOW: TowerSize = Own5;
const FRAMES: TowerSize = Own6;

/// `granite_speech`, `granite_speech_plus`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["granite_speech", "granite_speech_plus"],
    tower: "granite_speech_encoder",
    groups: &[TowerGroup { path: "projector_config", prefix: FURTHER, kinds: &["blip_2_qformer"] }],
    only: &[TowerOnly { key: "further_config.use_qformer_text_input", is: Known::Off }],
    keys: &[
        stated(WINDOW, "window_size", 15),
        stated(FRAMES, "downsample_rate", 5),
        stated(SecondHidden, "further_config.hidden_size", 768),
        stated(SecondInner, "further_config.intermediate_size", 3072),
        stated(SecondLayers, "further_config.num_hidden_layers", 12),
        stated(EVERY, "further_config.cross_attention_frequency", 2),
        stated(SEEN, "further_config.encoder_hidden_size", 1408),
    ],
    not_looked_at: &["num_attention_heads", "vocab_size", "max_position_embeddings"],
    follow,
    modules: &TowerModules {
        model_type: "granite_speech",
        parts: &[
            QUERIES,
            TowerPart { times: One, layers: &[LayerNorm(SecondHidden)] },
            ATTENTION,
            CROSS,
            FEED,
            BEHIND,
        ],
        buffers: &[],
    },
    ties: &[("granite_speech", Ties::OfWhole(true)), ("granite_speech_plus", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(Queries, sizes.get(WINDOW) / sizes.get(FRAMES).max(1));
    sizes.set(CROSSED, sizes.get(SecondLayers).div_ceil(sizes.get(EVERY).max(1)));
}
