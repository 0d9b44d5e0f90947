//! `video_llama_3` (transformers 5.23): two matrices with biases.

use crate::models::tower_prelude::*;

/// `video_llama_3`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["video_llama_3"],
    tower: "video_llama_3_vision",
    modules: &TowerModules {
        model_type: "video_llama_3",
        parts: &[super::deepseek_vl::TWO],
        buffers: &[],
    },
    ties: &[("video_llama_3", Ties::Either)],
    ..TowerSpec::PLAIN
};
