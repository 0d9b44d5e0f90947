//! `retnet` (code of its own on the hub, `fla-core` 0.6, `models/retnet`): a decay of every head in
//! place of attention. Its parameters are counted alone.

use super::gla::{attends_or, mixing, widened};
use crate::models::prelude::*;

/// Keys of the hidden size, and values of twice that.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let widths = [widened(model, said, "expand_k", 2), widened(model, said, "expand_v", 4)];
    attends_or(model, said, mixing(model, said, widths))
}

/// `retnet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["retnet"],
    class: "RetNet",
    labels: &[("retnet", "RetNet")],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2048, 0], 24, 8, 32_000, 2048),
    inner: InnerWidth::TwoThirds { may_be_stated: true, default: 2 },
    ..super::gla::FAMILY
};
