//! `ultravbert` (transformers 5.23): shuffled patches through one matrix and a norm.

use crate::models::tower_prelude::*;

/// `ultravbert`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["ultravbert"],
    modules: &TowerModules {
        model_type: "ultravbert",
        parts: &[TowerPart {
            times: One,
            layers: &[Matrix("projection", Merged, Text), RmsNorm(Text)],
        }],
        buffers: &[],
    },
    ..super::modernvbert::PROJECTOR
};
