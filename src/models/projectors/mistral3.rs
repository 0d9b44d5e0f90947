//! `mistral3`, `lighton_ocr` and `mistral_large4` (transformers 5.23): normed patches, merged by a matrix, through two more.

use super::llava::{BIASES, MATRICES, follow as side_by_side};
use crate::models::tower_prelude::*;

/// `mistral3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["mistral3", "lighton_ocr", "mistral_large4"],
    tower: "pixtral",
    keys: &[
        TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(1) },
        flag(Biased, "multimodal_projector_bias", false),
        stated(Merge, "spatial_merge_size", 2),
    ],
    follow,
    modules: &TowerModules {
        model_type: "mistral3",
        parts: &[TowerPart { times: One, layers: &[RmsNorm(Hidden), Matrix("patch merger", Merged, Hidden)] }, MATRICES, BIASES],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    side_by_side(sizes);
}
