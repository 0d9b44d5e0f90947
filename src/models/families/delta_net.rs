//! `delta_net` (code of its own on the hub, `fla-core` 0.6, `models/delta_net`): a delta rule in
//! place of attention. Its parameters are counted alone.

use super::gla::{attends_or, convolved, stated, widened};
use crate::models::prelude::*;

/// Three projections with convolutions, the rate of writing, and a norm over each head's values.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, heads) = (model.hidden_size, model.num_attention_heads.max(1));
    let (keys, values) = (widened(model, said, "expand_k", 2), widened(model, said, "expand_v", 2));
    let columns = 2 * keys + values;
    let gates = stated(said, "use_gate", 0) * h * values + stated(said, "use_beta", 1) * h * heads;
    attends_or(
        model,
        said,
        h * columns + convolved(said, columns, 1) + gates + values / heads + values * h,
    )
}

/// `delta_net`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["delta_net"],
    class: "DeltaNet",
    labels: &[("delta_net", "DeltaNet")],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2048, 0], 24, 16, 32_000, 2048),
    not_looked_at: &["qk_norm", "use_output_norm"],
    ..super::gla::FAMILY
};
