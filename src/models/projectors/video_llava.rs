//! `video_llava` (transformers 5.23): a second tower for videos, like that for images, and two
//! matrices.

use super::llava::{BIASES, MATRICES};
use crate::models::clip::{BEFORE, BEHIND};
use crate::models::tower_prelude::*;

/// `video_llava`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["video_llava"],
    tower: "clip_vision_model",
    modules: &TowerModules {
        model_type: "video_llava",
        parts: &[BEFORE, BLOCKS, BEHIND, MATRICES, BIASES],
        buffers: &[TowerBuffer::PositionIds(Positions)],
    },
    ties: &[("video_llava", Ties::OfWhole(false))],
    ..super::llava::PROJECTOR
};
