//! `gated_deltanet` (code of its own on the hub, `fla-core` 0.6, `models/gated_deltanet`): a delta
//! rule with a decay in place of attention. Its parameters are counted alone.

use super::gla::{attends_or, convolved, stated};
use crate::models::prelude::*;

/// Three projections with convolutions, decays and rates of writing, a gate, and a norm over each
/// head's values.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, heads, head) = (model.hidden_size, model.num_attention_heads, model.head_dim);
    let value_heads = stated(said, "num_v_heads", heads);
    let of_values = said("", &format!("expand_v*{head}")).unwrap_or(2 * head);
    let (keys, values) = (heads * head, value_heads * of_values);
    let columns = 2 * keys + values;
    let decays = 2 * h * value_heads + 2 * value_heads;
    let gate = stated(said, "use_gate", 1) * h * values;
    attends_or(
        model,
        said,
        h * columns + convolved(said, columns, 1) + decays + gate + of_values + values * h,
    )
}

/// `gated_deltanet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gated_deltanet"],
    class: "GatedDeltaNet",
    labels: &[("gated_deltanet", "Gated DeltaNet")],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2048, 0], 21, 6, 32_000, 2048).head(256),
    not_looked_at: &["output_gate_activation"],
    ..super::gla::FAMILY
};
