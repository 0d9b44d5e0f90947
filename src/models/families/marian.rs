//! `marian` (transformers 5.23, `models/marian`): BART without a norm behind the embedding, with
//! tables of sines for positions.

use crate::models::prelude::*;

/// `marian`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["marian"],
    class: "Marian",
    labels: &[("marian", "Marian")],
    modules: &Modules {
        model_type: "marian",
        choice: FamilyChoice { rank: 146, word: "marian", label: "Marian" },
        freezes_positions: true,
        source: Some(&Modules {
            position_ids: PositionIds::Counted,
            freezes_positions: true,
            ..super::bart::SOURCE
        }),
        ..*super::bart::FAMILY.modules
    },
    // A decoder's own words are named where they are not those of both sides.
    own_names: &[
        ("hidden_size", &["hidden_size", "d_model"]),
        ("num_hidden_layers", &["decoder_layers"]),
        ("num_attention_heads", &["decoder_attention_heads"]),
        ("vocab_size", &["vocab_size", "decoder_vocab_size"]),
    ],
    positions: LEARNED,
    embedding_norm: false,
    sizes: Sizes::of([1024, 4096], 12, 16, 58_101, 1024),
    only: &[Only::else_refused(
        "share_encoder_decoder_embeddings",
        &["true"],
        "words of its own on each side",
    )],
    not_looked_at: &["encoder_layerdrop", "decoder_layerdrop"],
    ..super::bart::FAMILY
};
