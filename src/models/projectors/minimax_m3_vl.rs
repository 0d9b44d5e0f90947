//! `minimax_m3_vl` (transformers 5.23): patches through two matrices, and merged ones through two
//! more.

use crate::models::tower_prelude::*;

/// `minimax_m3_vl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["minimax_m3_vl"],
    tower: "minimax_m3_vl_vision",
    keys: &[
        stated(Wide, "projector_hidden_size", 6144),
        stated(Merged, "merged_hidden_size", 24_576),
    ],
    modules: &TowerModules {
        model_type: "minimax_m3_vl",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Linear("projection", Hidden, Wide),
                Linear("second projection", Wide, Text),
                Linear("merger", Merged, Wide),
                Linear("merger output", Wide, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("minimax_m3_vl", Ties::Either)],
    ..TowerSpec::PLAIN
};
