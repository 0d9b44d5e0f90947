//! `esm` (transformers 5.23, `models/esm`; ESM-2): Megatron-BERT with heads rotated in fp32, over
//! the letters of proteins.

use crate::models::prelude::*;

/// `esm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["esm"],
    class: "Esm",
    labels: &[("esm", "ESM-2")],
    modules: &Modules {
        model_type: "esm",
        choice: FamilyChoice { rank: 93, word: "esm", label: "ESM-2" },
        hands_on_positions: false,
        position_ids: PositionIds::Counted,
        rotation: RotationStyle::InFp32ByTwoCopies,
        scales_queries: true,
        registers_head_bias_twice: false,
        measured: Modules::PLAIN.measured,
        encoder: EncoderModules {
            embedding: EmbeddedParts::WithDroppedTokens,
            buffers: PositionBuffers::OfPositions,
            writes_gelu: true,
            adds_head_bias: true,
            registers_frequencies_once: true,
            further: &[
                Further::vector_of_model("weight of contacts", Extent::HeadsOfAllBlocks),
                Further::vector_of_model("bias of contacts", Extent::Of(1)),
            ],
            ..EncoderModules::PLAIN
        },
        ..*super::megatron_bert::FAMILY.modules
    },
    own_rule: OwnSizes::DroppedTokens,
    sizes: Sizes::of([768, 3072], 12, 12, 0, 1026),
    positions: Positions::Are(PositionEmbedding::Rotary),
    embedding_norm: false,
    encoder: Some(Encoder::UNTYPED),
    not_looked_at: &["esmfold_config", "vocab_list"],
    only: &[
        Only::else_refused("emb_layer_norm_before", &["false"], "a norm behind its embedding"),
        Only::else_refused("is_folding_model", &["false"], "a trunk that folds proteins"),
    ],
    ..super::megatron_bert::FAMILY
};
