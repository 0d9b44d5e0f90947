//! `distilbert` (transformers 5.23, `models/distilbert`): BERT without token types.

use crate::models::prelude::*;

/// `distilbert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["distilbert"],
    class: "DistilBert",
    labels: &[("distilbert", "DistilBERT")],
    older_names: true,
    inner: InnerWidth::Stated(&["intermediate_size", "hidden_dim"]),
    modules: &Modules {
        model_type: "distilbert",
        choice: FamilyChoice { rank: 62, word: "distilbert", label: "DistilBERT" },
        registers_head_bias_twice: false,
        encoder: EncoderModules {
            tasks: TaskHeads::dense(DenseFunction::Relu),
            ..super::bert::FAMILY.modules.encoder
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 6, 12, 30_522, 512),
    encoder: Some(Encoder { type_vocab_size: 0, ..Encoder::BERT }),
    ..super::bert::FAMILY
};
