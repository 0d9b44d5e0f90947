//! `kosmos-2` (transformers 5.23): a matrix into the text's width, and learned queries that attend
//! to the patches.

use crate::models::tower_prelude::*;

/// `kosmos-2`. The table of the text's computed positions stands here: it has two rows more than
/// positions.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["kosmos-2"],
    tower: "kosmos_2_vision_model",
    keys: &[stated(Queries, "latent_query_num", 64)],
    follow,
    modules: &TowerModules {
        model_type: "kosmos-2",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Table("queries", Queries, Text),
                Linear("projection", Hidden, Text),
                Linear("key", Text, Text),
                Linear("value", Text, Text),
                Linear("query", Text, Text),
                Linear("output", Text, Text),
            ],
        }],
        buffers: &[TowerBuffer::Table(Own1, Text)],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(Own1, sizes.get(TextPositions).saturating_add(2));
}
