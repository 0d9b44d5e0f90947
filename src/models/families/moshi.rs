//! `moshi` (transformers 5.23, `models/moshi`): the decoder that writes the text of a dialogue, which is counted alone.

use crate::models::prelude::*;

/// Attention, and a further row of the embedding.
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
        choice: FamilyChoice { rank: 622, word: "moshi", label: "Moshi" },
        encoder: EncoderModules { never_ties: true, ..EncoderModules::COUNTED },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    inner: InnerWidth::HalfOf(&["intermediate_size", "ffn_dim"]),
    sizes: Sizes::of([4096, 22_528], 32, 32, 32_000, 3000),
    window: Window::All(3000),
    // Its class for text has neither part; with the others both are named as left out.
    not_looked_at: &["audio_encoder_config", "depth_decoder_config", "num_codebooks", "audio_vocab_size"],
    ..FamilySpec::PLAIN
};
