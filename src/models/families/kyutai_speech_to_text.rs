//! `kyutai_speech_to_text` (transformers 5.23, `models/kyutai_speech_to_text`), its decoder: moshi's, whose embedding has rows for sound, too.
//! Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, and the embedding's rows for sound with one for what is left out.
fn rest(model: &Counted, [codebooks, sounds, ..]: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * attention(model) + (codebooks * sounds + 1) * model.hidden_size
}

/// `kyutai_speech_to_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kyutai_speech_to_text"],
    class: "KyutaiSpeechToText",
    labels: &[("kyutai_speech_to_text", "Kyutai STT")],
    modules: &Modules {
        model_type: "kyutai_speech_to_text",
        choice: FamilyChoice { rank: 652, word: "kyutai-stt", label: "Kyutai STT" },
        ..Modules::COUNTED
    },
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[("num_codebooks", 32), ("codebook_vocab_size", 2049)],
    not_looked_at: &["frame_size"],
    sizes: Sizes::of([2048, 11_264], 48, 32, 4001, 750),
    window: Window::All(375),
    ..super::moshi::FAMILY
};
