//! `samba` (code of its own on the hub, `fla-core` 0.6, `models/samba`): Mamba in some layers and
//! attention to a window in the others. Its parameters are counted alone.

use super::gla::{attends_or, stated, widened};
use crate::models::prelude::*;

/// Mamba's layers, whose inner width is a multiple of the hidden size (`expand`).
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let (inner, states) = (widened(model, said, "expand", 4), stated(said, "state_size", 16));
    let steps = stated(said, "time_step_rank", h.div_ceil(16));
    let bias = stated(said, "use_bias", 0);
    let projections = 3 * h * inner + bias * (2 * inner + h);
    let convolution = inner * (stated(said, "conv_kernel", 4) + 1);
    let scan = inner * (steps + 2 * states) + steps * inner + inner + inner * states + inner;
    let mixing = projections + convolution + scan;
    if said("", "!attn") == Some(1) || said("attn.layers", "").is_some() {
        return attends_or(model, said, mixing);
    }
    // The library's own choice: every second layer, with as many keys as queries.
    let attends = model.num_hidden_layers.min(18) / 2;
    attends * 4 * h * h + model.num_hidden_layers.saturating_sub(attends) * mixing
}

/// `samba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["samba"],
    class: "Samba",
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2304, 0], 18, 18, 32_000, 2048),
    inner: InnerWidth::TwoThirds { may_be_stated: false, default: 4 },
    not_looked_at: &["time_step_scale"],
    ..super::gla::FAMILY
};
