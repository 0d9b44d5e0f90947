//! `instructblip` (transformers 5.23): the learned queries of `blip-2`, beside the tokens of an
//! instruction that have an embedding and feed-forward layers of their own.

use super::blip_2::{ATTENTION, BEHIND, CROSS, FEED, QUERIES};
use crate::models::tower_prelude::*;

const EVERY: TowerSize = Own1;
const PATCHES: TowerSize = Own2;
const CROSSED: TowerSize = Own3;
const ROWS: TowerSize = Own5;
const PLACES: TowerSize = Own6;

/// `instructblip`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["instructblip", "instructblipvideo"],
    tower: "blip_2_vision_model",
    groups: &[TowerGroup {
        path: "qformer_config",
        prefix: FURTHER,
        kinds: &["instructblip_qformer", "instructblipvideo_qformer"],
    }],
    keys: &[
        stated(Queries, "num_query_tokens", 32),
        stated(SecondHidden, "further_config.hidden_size", 768),
        stated(SecondInner, "further_config.intermediate_size", 3072),
        stated(SecondLayers, "further_config.num_hidden_layers", 12),
        stated(EVERY, "further_config.cross_attention_frequency", 2),
        stated(PATCHES, "further_config.encoder_hidden_size", 1408),
        stated(ROWS, "further_config.vocab_size", 30_522),
        stated(PLACES, "further_config.max_position_embeddings", 512),
    ],
    not_looked_at: &["num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "instructblip",
        parts: &[
            QUERIES,
            TowerPart {
                times: One,
                layers: &[
                    Table("embedding", ROWS, SecondHidden),
                    Table("position embedding", PLACES, SecondHidden),
                    LayerNorm(SecondHidden),
                ],
            },
            ATTENTION,
            CROSS,
            FEED,
            FEED,
            BEHIND,
        ],
        buffers: &[TowerBuffer::PositionIds(PLACES)],
    },
    ties: &[("instructblip", Ties::OfText), ("instructblipvideo", Ties::OfText)],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(CROSSED, sizes.get(SecondLayers).div_ceil(sizes.get(EVERY).max(1)));
}
