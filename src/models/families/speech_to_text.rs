//! `speech_to_text` (transformers 5.23, `models/speech_to_text`): a decoder that reads sound, whose
//! encoder is a tower. Its parameters are counted alone.

use crate::models::prelude::*;

/// `speech_to_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["speech_to_text"],
    class: "Speech2Text",
    labels: &[("speech_to_text", "Speech2Text")],
    modules: &Modules {
        model_type: "speech_to_text",
        choice: FamilyChoice { rank: 700, word: "speechtotext", label: "Speech2Text" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(attention_twice),
    own_names: DECODER,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["decoder_ffn_dim"]),
    not_looked_at: OF_ENCODER,
    sizes: Sizes::of([256, 2048], 6, 4, 10_000, 1024),
    act: HiddenAct::Relu,
    positions: Positions::Are(PositionEmbedding::None),
    norms: Norms::Are(3),
    tied: true,
    ..FamilySpec::CLASSIC
};

/// Keys that the encoder reads, and positions that are computed.
const OF_ENCODER: &[&str] = &[
    "encoder_attention_heads",
    "encoder_ffn_dim",
    "encoder_layers",
    "encoder_layerdrop",
    "decoder_layerdrop",
    "conv_kernel_sizes",
    "num_conv_layers",
    "max_source_positions",
    "max_target_positions",
];
