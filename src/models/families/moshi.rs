//! `moshi` (transformers 5.23, `models/moshi`), its decoder of words: llama's block with gate and
//! up in one matrix, one further row in the embedding. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, and the embedding's further row.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * attention(model) + model.hidden_size
}

/// `moshi`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["moshi"],
    class: "Moshi",
    labels: &[("moshi", "Moshi")],
    modules: &Modules {
        model_type: "moshi",
        choice: FamilyChoice { rank: 650, word: "moshi", label: "Moshi" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps_heads),
    inner: InnerWidth::HalfOf(&["intermediate_size", "ffn_dim"]),
    alone: ("Moshi", &["depth_decoder_config", "audio_encoder_config"]),
    not_looked_at: &["num_codebooks", "audio_vocab_size"],
    sizes: Sizes::of([4096, 22_528], 32, 32, 32_000, 3000),
    ties: Ties::Never,
    window: Window::All(3000),
    ..FamilySpec::PLAIN
};
