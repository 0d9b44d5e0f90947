//! `inkling_mm_model` (transformers 5.23): beside the vision part, which ends in the width of the
//! text, an embedding of sound.

use crate::models::tower_prelude::*;

/// `inkling_mm_model`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["inkling_mm_model"],
    tower: "inkling_vision",
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &["inkling_audio"] }],
    keys: &[
        stated(Further, "further_config.n_mel_bins", 80),
        stated(Wide, "further_config.mel_vocab_size", 256),
        stated(SecondOut, "further_config.text_hidden_size", 6144),
    ],
    follow: |sizes| product(sizes, Positions, Further, sizes.get(Wide)),
    modules: &TowerModules {
        model_type: "inkling_mm_model",
        parts: &[TowerPart {
            times: One,
            layers: &[Table("embedding of sound", Positions, SecondOut), RmsNorm(SecondOut)],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
