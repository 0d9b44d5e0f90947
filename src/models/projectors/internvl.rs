//! `internvl` and `qianfan_ocr` (transformers 5.23): shuffled patches, normed, through two matrices.

use crate::models::tower_prelude::*;

/// `internvl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["internvl", "qianfan_ocr"],
    tower: "internvl_vision",
    keys: &[TowerKey { size: Merge, key: "downsample_ratio", default: TowerDefault::OneOver(2) }],
    follow: merged,
    modules: &TowerModules {
        model_type: "internvl",
        parts: &[TowerPart {
            times: One,
            layers: &[LayerNorm(Merged), Linear("projection", Merged, Text), Linear("second projection", Text, Text)],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// The width of the patches that are merged.
pub fn merged(sizes: &mut TowerSizes) {
    let merge = sizes.get(Merge);
    sizes.set(Merged, sizes.get(Hidden).saturating_mul(merge).saturating_mul(merge));
}
