//! `cohere_asr` (transformers 5.23): a matrix between the encoder of sound and the decoder's
//! attention to it.

use crate::models::tower_prelude::*;

/// `cohere_asr`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["cohere_asr"],
    tower: "parakeet_encoder",
    groups: &[TowerGroup { path: "encoder_config", prefix: FURTHER, kinds: &["parakeet_encoder"] }],
    modules: &TowerModules {
        model_type: "cohere_asr",
        parts: &[TowerPart { times: One, layers: &[Linear("projection", SecondHidden, Text)] }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
