//! `paddleocr_vl` (transformers 5.23): a norm over patches, which are merged and go through two
//! matrices.

use crate::models::tower_prelude::*;

/// `paddleocr_vl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["paddleocr_vl"],
    tower: "paddleocr_vl_vision",
    modules: &TowerModules {
        model_type: "paddleocr_vl",
        parts: &[TowerPart {
            times: One,
            layers: &[
                LayerNorm(Hidden),
                Linear("projection", Merged, Merged),
                Linear("second projection", Merged, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("paddleocr_vl", Ties::Either)],
    ..TowerSpec::PLAIN
};
