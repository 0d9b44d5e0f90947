//! `minicpmv4_6` and its relatives (transformers 5.23): merged patches through two matrices, as
//! often as the file says.

use super::internvl::merged;
use crate::models::tower_prelude::*;

const TIMES: TowerSize = Own4;

/// `minicpmv4_6`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["minicpmv4_6", "minicpmv4_7", "minicpm_ocr"],
    tower: "minicpmv4_6_vision",
    keys: &[stated(Merge, "merge_kernel_size", 2), stated(TIMES, "merger_times", 1)],
    follow,
    modules: &TowerModules {
        model_type: "minicpmv4_6",
        parts: &[
            TowerPart {
                times: TIMES,
                layers: &[
                    LayerNorm(Merged),
                    Linear("merger", Merged, Merged),
                    Linear("merger output", Merged, Hidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    LayerNorm(Merged),
                    Linear("projection", Merged, Merged),
                    Linear("second projection", Merged, Text),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[
        ("minicpmv4_6", Ties::OfWhole(false)),
        ("minicpmv4_7", Ties::OfWhole(false)),
        ("minicpm_ocr", Ties::OfWhole(true)),
    ],
    ..TowerSpec::PLAIN
};

/// The last merger ends in the width of the text.
fn follow(sizes: &mut TowerSizes) {
    merged(sizes);
    sizes.set(TIMES, sizes.get(TIMES).saturating_sub(1));
}
