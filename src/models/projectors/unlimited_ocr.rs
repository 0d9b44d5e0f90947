//! `unlimited_ocr` (transformers 5.23): both towers' patches side by side through a matrix, and
//! learned marks between rows and views.

use crate::models::tower_prelude::*;

const BOTH: TowerSize = Derived;

/// `unlimited_ocr`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["unlimited_ocr"],
    tower: "unlimited_ocr_vision",
    follow,
    modules: &TowerModules {
        model_type: "unlimited_ocr",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Vector("mark between views", Text),
                Vector("mark of a row", Text),
                Linear("projection", BOTH, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("unlimited_ocr", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(BOTH, sizes.get(Out).saturating_add(sizes.get(Hidden)));
}
