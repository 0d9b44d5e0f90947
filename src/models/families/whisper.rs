//! `whisper` (transformers 5.23, `models/whisper`): an encoder of frames, which two convolutions
//! make of the bands of a sound's spectrum, and a decoder of text.

use crate::models::prelude::*;

/// Choices of both sides.
const BLOCKS: Modules = Modules {
    embedding_scale: EmbeddingScale::None,
    scales_queries: true,
    orders_heads: true,
    encoder: EncoderModules {
        keys_without_bias: true,
        buffers: PositionBuffers::None,
        embeds_in_module: false,
        ..EncoderModules::PLAIN
    },
    ..super::bart::SOURCE
};

/// `whisper`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["whisper"],
    class: "Whisper",
    labels: &[("whisper", "Whisper")],
    modules: &Modules {
        model_type: "whisper",
        choice: FamilyChoice { rank: 180, word: "whisper", label: "Whisper" },
        position_ids: PositionIds::FromTokens,
        source: Some(&Modules {
            position_ids: PositionIds::Counted,
            freezes_positions: true,
            encoder: EncoderModules { embedding: EmbeddedParts::Frames, ..BLOCKS.encoder },
            ..BLOCKS
        }),
        ..BLOCKS
    },
    own_names: &[
        ("hidden_size", &["hidden_size", "d_model"]),
        ("num_hidden_layers", &["decoder_layers"]),
        ("num_attention_heads", &["decoder_attention_heads"]),
        ("max_position_embeddings", &["max_target_positions"]),
    ],
    sizes: Sizes::of([384, 1536], 4, 6, 51_865, 448),
    positions: LEARNED,
    embedding_norm: false,
    final_norm: true,
    own_sizes: &[("num_mel_bins", 80)],
    source: Some(SourceKeys {
        positions: Some((("max_source_positions", 1500), 0)),
        shares_words: false,
        absent: Absent::MayBe,
        ..SourceKeys::encoder(4, 6, 1536)
    }),
    not_looked_at: &[
        "encoder_layerdrop",
        "decoder_layerdrop",
        "classifier_proj_size",
        "median_filter_width",
        "use_weighted_layer_sum",
        "max_length",
    ],
    ..super::bart::FAMILY
};
