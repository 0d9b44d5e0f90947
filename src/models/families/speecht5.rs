//! `speecht5` (transformers 5.23, `models/speecht5`), from speech to text: a decoder without a last
//! norm that reads sound, whose encoder is a tower. Its parameters are counted alone.

use crate::models::prelude::*;

/// `speecht5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["speecht5"],
    class: "SpeechT5ForSpeech",
    labels: &[("speecht5", "SpeechT5")],
    modules: &Modules {
        model_type: "speecht5",
        choice: FamilyChoice { rank: 707, word: "speecht5", label: "SpeechT5" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(attention_twice),
    own_names: &[
        ("num_hidden_layers", &["decoder_layers"]),
        ("num_attention_heads", &["decoder_attention_heads"]),
        ("max_position_embeddings", &["max_position_embeddings", "max_text_positions"]),
    ],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["decoder_ffn_dim"]),
    not_looked_at: &[
        "encoder_attention_heads",
        "encoder_ffn_dim",
        "encoder_layers",
        "encoder_layerdrop",
        "decoder_layerdrop",
        "encoder_max_relative_position",
        "conv_dim",
        "conv_kernel",
        "num_conv_pos_embedding_groups",
        "num_conv_pos_embeddings",
        "num_feat_extract_layers",
        "guided_attention_loss_num_heads",
        "speaker_embedding_dim",
        "speech_decoder_postnet_layers",
        "speech_decoder_postnet_units",
        "speech_decoder_postnet_kernel",
        "speech_decoder_prenet_layers",
        "speech_decoder_prenet_units",
    ],
    sizes: Sizes::of([768, 3072], 6, 12, 81, 450),
    positions: Positions::Are(PositionEmbedding::None),
    norms: Norms::Are(3),
    final_norm: false,
    tied: true,
    ..FamilySpec::CLASSIC
};
