//! `deberta-v2` (transformers 5.23, `models/deberta_v2`; DeBERTa v2 and v3): BERT whose scores hold
//! products with embedded distances.

use crate::models::prelude::*;

/// `deberta-v2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deberta-v2"],
    class: "DebertaV2",
    labels: &[("deberta-v2", "DeBERTa v2")],
    modules: &Modules {
        model_type: "deberta-v2",
        choice: FamilyChoice { rank: 77, word: "deberta-v2", label: "DeBERTa v2" },
        encoder: EncoderModules {
            tasks: TaskHeads::dense(DenseFunction::Gelu),
            embedding: EmbeddedParts::WithEmbeddedDistances,
            buffers: PositionBuffers::OfPositions,
            makes_types: true,
            mask: TokenMask::OfPairs,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([1536, 6144], 24, 24, 128_100, 512),
    encoder: Some(Encoder::UNTYPED),
    not_looked_at: &["pooler_hidden_size", "pooler_hidden_act"],
    only: &[
        Only::else_refused("conv_kernel_size", &["0"], "a convolution beside its first block"),
        Only::else_refused("type_vocab_size", &["0"], "types of tokens"),
        Only::else_refused("legacy", &["true"], "an output head of another kind"),
    ],
    ..super::bert::FAMILY
};
