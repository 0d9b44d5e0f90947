//! `xlm-roberta-xl` (transformers 5.23, `models/xlm_roberta_xl`): RoBERTa with norms before each
//! half, and none behind the embedding.

use crate::models::prelude::*;

/// `xlm-roberta-xl`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xlm-roberta-xl"],
    class: "XLMRobertaXL",
    labels: &[("xlm-roberta-xl", "XLM-RoBERTa XL")],
    modules: &Modules {
        model_type: "xlm-roberta-xl",
        choice: FamilyChoice { rank: 65, word: "xlm-roberta-xl", label: "XLM-RoBERTa XL" },
        norms_follow_without_final: false,
        registers_norms_first: false,
        ..*super::roberta::FAMILY.modules
    },
    sizes: Sizes::of([2560, 10_240], 36, 32, 250_880, 514),
    embedding_norm: false,
    final_norm: true,
    encoder: Some(Encoder { type_vocab_size: 1, ..Encoder::BERT }),
    ..super::roberta::FAMILY
};
