//! `wavlm` (transformers 5.23, `models/wavlm`): Wav2Vec2 with distances between frames, which every
//! head weighs. Its parameters are counted alone.

use super::wav2vec2::{before, ends, unmasked};
use crate::models::prelude::*;

/// Numbers that weigh a distance.
const WEIGHS: u64 = 8;

fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (heads, head) = (model.num_attention_heads, model.head_dim);
    let distances = said("", "num_buckets").unwrap_or(320) * heads;
    let block = attention(model) + heads + WEIGHS * (head + 1);
    let whole =
        before(model, said) + model.num_hidden_layers * block + distances + ends(model, said);
    whole.saturating_sub(unmasked(model, said))
}

/// `wavlm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["wavlm"],
    class: "WavLM",
    labels: &[("wavlm", "WavLM")],
    own_rule: OwnSizes::RestOfFile(rest),
    ..super::wav2vec2::FAMILY
};
