//! `bert-generation` (transformers 5.23, `models/bert_generation`): BERT as a decoder, without
//! token types and without a layer before the head.

use crate::models::prelude::*;

/// `bert-generation`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bert-generation"],
    class: "BertGeneration",
    labels: &[("bert-generation", "BertGeneration")],
    modules: &Modules {
        model_type: "bert-generation",
        choice: FamilyChoice { rank: 92, word: "bert-generation", label: "BertGeneration" },
        encoder: EncoderModules { buffers: PositionBuffers::OfPositions, ..EncoderModules::PLAIN },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 24, 16, 50_358, 512),
    encoder: Some(Encoder { head_transform: false, ..Encoder::UNTYPED }),
    ..super::bert::FAMILY
};
