//! `led` (transformers 5.23, `models/led`): BART whose encoder sees a window and a few tokens of
//! the whole text, with projections of their own.

use crate::models::prelude::*;

/// `led`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["led"],
    class: "LED",
    labels: &[("led", "LED")],
    modules: &Modules {
        model_type: "led",
        choice: FamilyChoice { rank: 171, word: "led", label: "LED" },
        encoder: EncoderModules { trains: false, ..super::bart::FAMILY.modules.encoder },
        source: Some(&Modules {
            encoder: EncoderModules {
                further: &[
                    Further::in_blocks(
                        "query weight of the whole text",
                        [Extent::Hidden, Extent::Hidden],
                    ),
                    Further::vector_in_blocks("query bias of the whole text", Extent::Hidden),
                    Further::in_blocks(
                        "key weight of the whole text",
                        [Extent::Hidden, Extent::Hidden],
                    ),
                    Further::vector_in_blocks("key bias of the whole text", Extent::Hidden),
                    Further::in_blocks(
                        "value weight of the whole text",
                        [Extent::Hidden, Extent::Hidden],
                    ),
                    Further::vector_in_blocks("value bias of the whole text", Extent::Hidden),
                ],
                ..super::bart::SOURCE.encoder
            },
            ..super::bart::SOURCE
        }),
        ..*super::bart::FAMILY.modules
    },
    own_names: &[
        ("hidden_size", &["hidden_size", "d_model"]),
        ("num_hidden_layers", &["decoder_layers"]),
        ("num_attention_heads", &["decoder_attention_heads"]),
        ("max_position_embeddings", &["max_decoder_position_embeddings"]),
    ],
    positions: LEARNED,
    source: Some(SourceKeys {
        positions: Some((("max_encoder_position_embeddings", 16_384), 0)),
        ..SourceKeys::encoder(12, 16, 4096)
    }),
    not_looked_at: &["encoder_layerdrop", "decoder_layerdrop", "attention_window"],
    sizes: Sizes::of([1024, 4096], 12, 16, 50_265, 1024),
    ..super::bart::FAMILY
};
