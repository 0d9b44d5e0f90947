//! `gsa` (code of its own on the hub, `fla-core` 0.6, `models/gsa`): attention to slots that tokens
//! write. Its parameters are counted alone.

use super::gla::{attends_or, convolved, grouped, stated, widened};
use crate::models::prelude::*;

/// Three projections, a decay for every slot, a norm, and the output projection.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let (keys, values) = (widened(model, said, "expand_k", 2), widened(model, said, "expand_v", 2));
    let [fewer_keys, fewer_values] = grouped(model, [keys, values]);
    // Null means a slot for each key of a head.
    let of_head = if said("", "!num_slots") == Some(1) {
        keys / model.num_attention_heads.max(1)
    } else {
        64
    };
    let slots = stated(said, "num_slots", of_head) * model.num_key_value_heads;
    let columns = keys + fewer_keys + fewer_values;
    let norm = stated(said, "elementwise_affine", 1) * h;
    attends_or(model, said, h * (columns + slots) + convolved(said, columns, 0) + norm + values * h)
}

/// `gsa`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gsa"],
    class: "GSA",
    labels: &[("gsa", "GSA")],
    own_rule: OwnSizes::RestOfFile(rest),
    ..super::gla::FAMILY
};
