//! `rembert` (transformers 5.23, `models/rembert`): BERT with a narrow embedding and a wide head
//! that is not tied to it.

use crate::models::prelude::*;

/// `rembert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["rembert"],
    class: "RemBert",
    labels: &[("rembert", "RemBERT")],
    modules: &Modules {
        model_type: "rembert",
        choice: FamilyChoice { rank: 71, word: "rembert", label: "RemBERT" },
        registers_head_bias_twice: false,
        encoder: EncoderModules {
            tasks: TaskHeads::POOLING,
            buffers: PositionBuffers::OfPositions,
            makes_types: true,
            added: AddedParts::PositionsInPlace,
            mask: TokenMask::Ones,
            always_widens: true,
            head_width: HeadWidth::Own,
            writes_attention: true,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([1152, 4608], 32, 18, 250_300, 512),
    tied: false,
    // Its classes name no weights to tie, whatever `tie_word_embeddings` says.
    ties: Ties::Never,
    embedding_size: Some(("input_embedding_size", 256)),
    own_sizes: &[("output_embedding_size", 1664)],
    ..super::bert::FAMILY
};
