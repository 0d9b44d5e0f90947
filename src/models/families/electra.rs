//! `electra` (transformers 5.23, `models/electra`): BERT with an embedding of its own width, to
//! which the head goes back.

use crate::models::prelude::*;

/// `electra`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["electra"],
    class: "Electra",
    labels: &[("electra", "ELECTRA")],
    modules: &Modules {
        model_type: "electra",
        choice: FamilyChoice { rank: 70, word: "electra", label: "ELECTRA" },
        registers_head_bias_twice: false,
        encoder: EncoderModules {
            tasks: TaskHeads::dense(DenseFunction::Gelu),
            head_width: HeadWidth::OfEmbedding,
            head_takes_gelu: true,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([256, 1024], 12, 4, 30_522, 512),
    embedding_size: Some(("embedding_size", 128)),
    ..super::bert::FAMILY
};
