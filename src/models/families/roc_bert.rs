//! `roc_bert` (transformers 5.23, `models/roc_bert`): BERT that reads the sound and the shape of
//! every character beside it.

use crate::models::prelude::*;

/// `roc_bert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["roc_bert"],
    class: "RoCBert",
    labels: &[("roc_bert", "RoCBert")],
    modules: &Modules {
        model_type: "roc_bert",
        choice: FamilyChoice { rank: 74, word: "roc-bert", label: "RoCBert" },
        encoder: EncoderModules {
            tasks: TaskHeads::POOLING,
            embedding: EmbeddedParts::WithSoundAndShape,
            added: AddedParts::AllInPlace,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    own_sizes: &[
        ("pronunciation_vocab_size", 910),
        ("pronunciation_embed_dim", 768),
        ("shape_vocab_size", 24_858),
        ("shape_embed_dim", 512),
    ],
    only: &[
        Only::else_refused("concat_input", &["true"], "sounds and shapes that are added to tokens"),
        Only::else_refused("enable_pronunciation", &["true"], "tokens without their sounds"),
        Only::else_refused("enable_shape", &["true"], "tokens without their shapes"),
    ],
    ..super::bert::FAMILY
};
