//! `jina_embeddings_v3` (transformers 5.23, `models/jina_embeddings_v3`): RoBERTa with rotated
//! heads.

use crate::models::prelude::*;

/// `jina_embeddings_v3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["jina_embeddings_v3"],
    class: "JinaEmbeddingsV3",
    labels: &[("jina_embeddings_v3", "Jina Embeddings v3")],
    modules: &Modules {
        model_type: "jina_embeddings_v3",
        choice: FamilyChoice { rank: 69, word: "jina-v3", label: "Jina Embeddings v3" },
        hands_on_positions: false,
        position_ids: PositionIds::Counted,
        encoder: EncoderModules {
            tasks: TaskHeads::POOLING,
            makes_types: true,
            head_takes_gelu: true,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 24, 16, 250_002, 8194),
    positions: Positions::Are(PositionEmbedding::Rotary),
    encoder: Some(Encoder { type_vocab_size: 1, ..Encoder::BERT }),
    ..super::bert::FAMILY
};
