//! `lfm3_vl` (transformers 5.23): a norm over patches, which are merged and go through two
//! matrices.

use crate::models::tower_prelude::*;

/// `lfm3_vl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["lfm3_vl"],
    tower: "lfm3_vl_vision",
    keys: &[stated(Wide, "projector_hidden_size", 4096), flag(Biased, "projector_bias", true)],
    modules: &TowerModules {
        model_type: "lfm3_vl",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(Hidden),
                    Matrix("projection", Merged, Wide),
                    Matrix("second projection", Wide, Text),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[Vector("projection bias", Wide), Vector("second projection bias", Text)],
            },
        ],
        buffers: &[],
    },
    ties: &[("lfm3_vl", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
