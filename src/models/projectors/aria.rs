//! `aria` (transformers 5.23): learned queries attend to the patches, through two matrices.

use crate::models::tower_prelude::*;

/// `aria`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["aria"],
    tower: "idefics3_vision",
    keys: &[stated(Queries, "max_value_projector_patch_to_query_dict", 256)],
    follow,
    modules: &TowerModules {
        model_type: "aria",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Table("queries", Queries, Hidden),
                Matrix("query", Hidden, Hidden),
                Matrix("key", Hidden, Hidden),
                Matrix("value", Hidden, Hidden),
                Linear("query, key and value", Hidden, Joint),
                Linear("output", Hidden, Hidden),
                Linear("second output", Hidden, Hidden),
                LayerNorm(Hidden),
                LayerNorm(Hidden),
                LayerNorm(Hidden),
                Matrix("projection", Hidden, Text),
                Matrix("second projection", Text, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("aria", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(Joint, sizes.get(Hidden).saturating_mul(3));
}
