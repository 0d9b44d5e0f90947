//! `prophetnet` (transformers 5.23, `models/prophetnet`): BART's blocks with a decoder that
//! predicts several tokens, which is counted alone.

use crate::models::prelude::*;

/// A class of distances for each head. The decoder's own class has a table of words that is shared,
/// beside the one that is read.
fn finish(model: &mut ModelConfig) {
    let heads = model.num_attention_heads;
    let spare =
        if model.tie_word_embeddings || model.beside().is_some() { 0 } else { model.vocab_size };
    if let Some(source) = &mut model.source {
        source.own[2] = source.own[1].saturating_mul(heads);
        source.idle_vocab_size = source.idle_vocab_size.max(spare);
    }
}

/// `prophetnet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["prophetnet"],
    class: "ProphetNet",
    labels: &[("prophetnet", "ProphetNet")],
    modules: &Modules {
        model_type: "prophetnet",
        choice: FamilyChoice { rank: 174, word: "prophetnet", label: "ProphetNet" },
        encoder: EncoderModules {
            trains: false,
            further: &[
                Further::of_model("embedding of further tokens", [Extent::Own(0), Extent::Hidden]),
                Further::in_blocks("weight of distances", [Extent::Own(2), Extent::Hidden]),
                Further::vector_in_blocks("bias of distances", Extent::Own(2)),
            ],
            ..super::bart::FAMILY.modules.encoder
        },
        adds_buffer_to_logits: false,
        ..*super::bart::FAMILY.modules
    },
    own_names: &[
        ("hidden_size", &["hidden_size"]),
        ("num_hidden_layers", &["num_decoder_layers"]),
        ("num_attention_heads", &["num_decoder_attention_heads"]),
    ],
    positions: LEARNED,
    own_sizes: &[("ngram", 2), ("num_buckets", 32)],
    source: Some(SourceKeys {
        heads: Some(("num_encoder_attention_heads", 16)),
        inner: Some(("encoder_ffn_dim", 4096)),
        heads_of_decoder: false,
        absent: Absent::MayBe,
        finish,
        ..SourceKeys::of(("num_encoder_layers", 12))
    }),
    only: &[Only::else_refused(
        "add_cross_attention",
        &["true"],
        "a decoder that does not read its encoder",
    )],
    not_looked_at: &["relative_max_distance"],
    sizes: Sizes::of([1024, 4096], 12, 16, 30_522, 512),
    ..super::bart::FAMILY
};
