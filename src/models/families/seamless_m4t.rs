//! `seamless_m4t` and its second version (transformers 5.23, `models/seamless_m4t`, `models/seamless_m4t_v2`), from text to text: M2M-100's
//! modules. What reads or speaks sound is another class, whose parameters are not counted.

use crate::models::prelude::*;

/// `seamless_m4t`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["seamless_m4t", "seamless_m4t_v2"],
    class: "SeamlessM4T",
    saved_with: &["SeamlessM4Tv2"],
    labels: &[("seamless_m4t", "SeamlessM4T"), ("seamless_m4t_v2", "SeamlessM4T v2")],
    modules: &Modules {
        model_type: "seamless_m4t",
        choice: FamilyChoice { rank: 181, word: "seamlessm4t", label: "SeamlessM4T" },
        encoder: EncoderModules { trains: false, ..super::m2m_100::FAMILY.modules.encoder },
        ..*super::m2m_100::FAMILY.modules
    },
    sizes: Sizes::of([1024, 8192], 24, 16, 256_102, 1024),
    source: Some(SourceKeys::encoder(24, 16, 8192)),
    not_looked_at: ELSEWHERE,
    ..super::m2m_100::FAMILY
};

/// Keys of parts that other classes have.
pub(super) const ELSEWHERE: &[&str] = &[
    "encoder_attention_heads",
    "encoder_ffn_dim",
    "encoder_layers",
    "encoder_layerdrop",
    "decoder_layerdrop",
    "max_source_positions",
    "num_conv_pos_embedding_groups",
    "num_conv_pos_embeddings",
    "position_embeddings_type",
    "speech_encoder_attention_heads",
    "speech_encoder_hidden_act",
    "speech_encoder_intermediate_size",
    "speech_encoder_layerdrop",
    "speech_encoder_layers",
    "speech_encoder_chunk_size",
    "speech_encoder_left_chunk_num",
    "conv_depthwise_kernel_size",
    "feature_projection_input_dim",
    "max_new_tokens",
    "adaptor_kernel_size",
    "adaptor_stride",
    "num_adapter_layers",
    "lang_embed_dim",
    "spkr_embed_dim",
    "unit_embed_dim",
    "variance_predictor_kernel_size",
    "variance_pred_dropout",
    "variance_predictor_embed_dim",
    "variance_predictor_hidden_dim",
    "vocoder_num_langs",
    "vocoder_num_spkrs",
    "t2u_decoder_attention_heads",
    "t2u_decoder_ffn_dim",
    "t2u_decoder_layers",
    "t2u_encoder_attention_heads",
    "t2u_encoder_ffn_dim",
    "t2u_encoder_layers",
    "t2u_max_position_embeddings",
    "t2u_vocab_size",
    "t2u_variance_predictor_embed_dim",
    "t2u_variance_predictor_hidden_dim",
    "t2u_variance_predictor_kernel_size",
    "char_vocab_size",
    "unit_hifi_gan_vocab_size",
    "left_max_position_embeddings",
    "right_max_position_embeddings",
    "max_relative_positions",
    "resblock_dilation_sizes",
    "resblock_kernel_sizes",
    "upsample_kernel_sizes",
    "upsample_rates",
    "upsample_initial_channel",
    "sampling_rate",
];
