//! `voxtral_realtime_text` (transformers 5.23, `models/voxtral_realtime`): Mistral's blocks, whose
//! second norm is scaled by two matrices that read how late the text is. Its parameters are counted
//! alone.

use crate::models::prelude::*;

/// Attention, and two matrices over 32 columns.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * (attention(model) + 2 * 32 * model.hidden_size)
}

/// `voxtral_realtime_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["voxtral_realtime_text"],
    class: "VoxtralRealtime",
    labels: &[("voxtral_realtime_text", "Voxtral Realtime")],
    modules: &Modules {
        model_type: "voxtral_realtime_text",
        choice: FamilyChoice { rank: 705, word: "voxtralrealtime", label: "Voxtral Realtime" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
    tied: true,
    window: Window::All(4096),
    ..FamilySpec::PLAIN
};
