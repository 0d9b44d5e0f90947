//! `kyutai_speech_to_text` (transformers 5.23, `models/kyutai_speech_to_text`): a decoder whose
//! tokens are words and codes of sound, added up. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, and rows of codes, which the head does not predict.
fn rest(model: &Counted, [books, codes, ..]: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * attention(model) + (books * codes + 1) * model.hidden_size
}

/// `kyutai_speech_to_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kyutai_speech_to_text"],
    class: "KyutaiSpeechToText",
    labels: &[("kyutai_speech_to_text", "Kyutai STT")],
    modules: &Modules {
        model_type: "kyutai_speech_to_text",
        choice: FamilyChoice { rank: 706, word: "kyutai", label: "Kyutai STT" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[("num_codebooks", 32), ("codebook_vocab_size", 2049)],
    not_looked_at: &["frame_size"],
    inner: InnerWidth::HalfOf(&["intermediate_size", "ffn_dim"]),
    sizes: Sizes::of([2048, 11_264], 48, 32, 4001, 750),
    window: Window::All(375),
    ..FamilySpec::PLAIN
};
