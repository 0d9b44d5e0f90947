//! `hgrn2` (code of its own on the hub, `fla-core` 0.6, `models/hgrn2`): a recurrence of every head
//! whose decays have a lower bound. Its parameters are counted alone.

use super::gla::{attends_or, convolved, stated};
use crate::models::prelude::*;

/// Queries, decays and inputs, a norm, the output projection, and the bounds.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let ratio = stated(said, "expand_ratio", 128).max(1);
    let decays = h / ratio * ratio;
    let columns = 2 * decays + h;
    let norm = stated(said, "elementwise_affine", 1) * h;
    let bounds = stated(said, "use_lower_bound", 1) * model.num_hidden_layers * h;
    bounds + attends_or(model, said, h * columns + convolved(said, columns, 0) + norm + h * h)
}

/// `hgrn2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hgrn2"],
    class: "HGRN2",
    labels: &[("hgrn2", "HGRN2")],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2048, 0], 24, 16, 32_000, 2048),
    ..super::gla::FAMILY
};
