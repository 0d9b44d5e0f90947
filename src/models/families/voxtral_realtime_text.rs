//! `voxtral_realtime_text`, the text part of Voxtral Realtime (transformers 5.23): ministral's block, whose second norm is scaled by the delay
//! of sound. Its parameters are counted alone.

use crate::models::prelude::*;

/// Columns between the two matrices that make the scale.
const NARROW: u64 = 32;

/// Attention, and the scale's two matrices.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * (attention(model) + 2 * NARROW * model.hidden_size)
}

/// `voxtral_realtime_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["voxtral_realtime_text"],
    class: "VoxtralRealtimeText",
    labels: &[("voxtral_realtime", "Voxtral Realtime")],
    modules: &Modules {
        model_type: "voxtral_realtime_text",
        choice: FamilyChoice { rank: 651, word: "voxtral-realtime", label: "Voxtral Realtime" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    sizes: Sizes::of([3072, 9216], 26, 32, 131_072, 131_072).kv(8).head(128),
    tied: true,
    window: Window::All(8192),
    ..FamilySpec::PLAIN
};
