//! The vision part of `qwen2_5_omni` (transformers 5.23): that of `qwen2_5_vl`, with a matrix each
//! for queries, keys and values.

use super::qwen2_vl_vision::MERGER;
use crate::models::tower_prelude::*;

/// `qwen2_5_omni_vision_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["qwen2_5_omni_vision_encoder"],
    whole: &[],
    modules: &TowerModules {
        model_type: "qwen2_5_omni_vision_encoder",
        parts: &[
            TowerPart { times: One, layers: &[Matrix("patch embedding", Patch, Hidden)] },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                    Linear("query", Hidden, Hidden),
                    Linear("key", Hidden, Hidden),
                    Linear("value", Hidden, Hidden),
                    Linear("output", Hidden, Hidden),
                    Linear("gate", Hidden, Inner),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                ],
            },
            TowerPart { times: One, layers: &[RmsNorm(Hidden)] },
            MERGER,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..super::qwen2_5_vl_vision::TOWER
};
