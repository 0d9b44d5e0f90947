//! `whisper` (transformers 5.23, `models/whisper`): an encoder of frames, which two convolutions make of the bands of a sound's spectrum,
//! and a decoder of text.

use crate::models::prelude::*;

/// Choices of the decoder's side.
const ENCODER: EncoderModules =
    EncoderModules { trains: false, keys_without_bias: true, buffers: PositionBuffers::None, ..EncoderModules::PLAIN };

/// `whisper`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["whisper"],
    class: "Whisper",
    labels: &[("whisper", "Whisper")],
    modules: &Modules {
        model_type: "whisper",
        choice: FamilyChoice { rank: 180, word: "whisper", label: "Whisper" },
        adds_buffer_to_logits: false,
        encoder: ENCODER,
        source: Some(&Modules {
            encoder: EncoderModules {
                further: &[
                    Further::of_model("weight of the first convolution", [Extent::Own(1), Extent::Hidden]),
                    Further::vector_of_model("bias of the first convolution", Extent::Hidden),
                    Further::of_model("weight of the second convolution", [Extent::Own(2), Extent::Hidden]),
                    Further::vector_of_model("bias of the second convolution", Extent::Hidden),
                ],
                ..ENCODER
            },
            ..super::bart::SOURCE
        }),
        ..*super::bart::FAMILY.modules
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
    source: Some(SourceKeys { positions: Some((("max_source_positions", 1500), 0)), finish, ..SourceKeys::encoder(4, 6, 1536) }),
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

/// A convolution sees three frames: the first all bands of each, the second all its channels.
fn finish(model: &mut ModelConfig) {
    let hidden = model.hidden_size;
    if let Some(source) = &mut model.source {
        source.own[1] = source.own[0].saturating_mul(3);
        source.own[2] = hidden.saturating_mul(3);
    }
}
