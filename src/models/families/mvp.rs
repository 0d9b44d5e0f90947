//! `mvp` (transformers 5.23, `models/mvp`): BART's modules, in a checkpoint of its own.

use crate::models::prelude::*;

/// `mvp`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mvp"],
    class: "Mvp",
    labels: &[("mvp", "MVP")],
    modules: &Modules {
        model_type: "mvp",
        choice: FamilyChoice { rank: 148, word: "mvp", label: "MVP" },
        measured: Measured { written_out: false, ..super::bart::FAMILY.modules.measured },
        encoder: EncoderModules { trains: false, ..super::bart::FAMILY.modules.encoder },
        ..*super::bart::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 12, 16, 50_267, 1024),
    only: &[Only::else_refused("use_prompt", &["false"], "learned prompts")],
    not_looked_at: &["prompt_length", "prompt_mid_dim", "encoder_layerdrop", "decoder_layerdrop"],
    ..super::bart::FAMILY
};
