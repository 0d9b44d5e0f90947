//! `fsmt` (transformers 5.23, `models/fsmt`): BART's blocks with words of its own on each side,
//! which are counted alone.

use crate::models::prelude::*;

/// Tied weights are one table for both sides.
fn finish(model: &mut ModelConfig) {
    let tied = model.tie_word_embeddings;
    if let Some(source) = model.source.as_mut().filter(|_| tied) {
        source.vocab_size = 0;
    }
}

/// `fsmt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["fsmt"],
    class: "FSMT",
    labels: &[("fsmt", "FSMT")],
    modules: &Modules {
        model_type: "fsmt",
        choice: FamilyChoice { rank: 170, word: "fsmt", label: "FSMT" },
        encoder: EncoderModules { trains: false, ..super::bart::FAMILY.modules.encoder },
        adds_buffer_to_logits: false,
        ..*super::bart::FAMILY.modules
    },
    own_names: &[
        ("hidden_size", &["hidden_size", "d_model"]),
        ("num_hidden_layers", &["decoder_layers"]),
        ("num_attention_heads", &["decoder_attention_heads"]),
        ("vocab_size", &["tgt_vocab_size"]),
    ],
    positions: Positions::BehindPadding(1),
    embedding_norm: false,
    tied: false,
    act: HiddenAct::Relu,
    source: Some(SourceKeys {
        finish,
        vocab: Some(("src_vocab_size", 42_024)),
        ..SourceKeys::encoder(12, 16, 4096)
    }),
    not_looked_at: &[
        "encoder_layerdrop",
        "decoder_layerdrop",
        "max_length",
        "num_beams",
        "length_penalty",
    ],
    sizes: Sizes::of([1024, 4096], 12, 16, 42_024, 1024),
    ..super::bart::FAMILY
};
