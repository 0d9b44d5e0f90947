//! `gte` (transformers 5.23, `models/gte`): Nomic BERT with biases, but for those of gate and up.

use crate::models::prelude::*;

/// `gte`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gte"],
    class: "Gte",
    labels: &[("gte", "GTE")],
    modules: &Modules {
        model_type: "gte",
        choice: FamilyChoice { rank: 68, word: "gte", label: "GTE" },
        hands_on_positions: false,
        feed_forward: FeedForwardStyle::SeparateBiasedDown,
        registers_head_bias_twice: false,
        encoder: EncoderModules {
            buffers: PositionBuffers::None,
            head_takes_gelu: true,
            ..super::nomic_bert::FAMILY.modules.encoder
        },
        shape: Some(ShapeRule {
            encoder: true,
            mlp: MlpKind::Gated,
            attention_bias: Some(true),
            mlp_bias: Some(true),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..*super::nomic_bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 250_048, 8192),
    act: HiddenAct::Gelu,
    attention_bias: Flag::Is(true),
    output_bias: Flag::Is(true),
    mlp_bias: Flag::Is(true),
    encoder: Some(Encoder { type_vocab_size: 1, ..Encoder::BERT }),
    ..super::nomic_bert::FAMILY
};
