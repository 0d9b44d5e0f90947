//! `llava_next` and its relatives (transformers 5.23): that of `llava`, and a vector that ends a row of patches.

use super::llava::{BIASES, MATRICES};
use crate::models::tower_prelude::*;

/// `llava_next`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["llava_next", "llava_next_video"],
    modules: &TowerModules {
        model_type: "llava_next",
        parts: &[TowerPart { times: One, layers: &[Vector("end of a row", Text)] }, MATRICES, BIASES],
        buffers: &[],
    },
    ..super::llava::PROJECTOR
};
