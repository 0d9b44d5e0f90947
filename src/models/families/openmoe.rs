//! `openmoe` (code of its own on the hub, `OrionZheng/openmoe-8b`): a gate of twice the width,
//! experts in every so many layers with a dense layer and its norm behind them. Its parameters are
//! counted alone.

use crate::models::prelude::*;

/// Attention; gates that are twice as wide as what they gate; a dense layer and a norm behind
/// experts.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let (h, sparse) = (model.hidden_size, sparse_layers(model));
    let gate = h * model.intermediate_size;
    let experts = model.moe.as_ref().map_or(0, |moe| moe.num_experts);
    let dense = model.num_hidden_layers - sparse;
    model.num_hidden_layers * attention(model)
        + dense * gate
        + sparse * (experts * gate + 4 * gate + h)
}

/// `openmoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["openmoe"],
    class: "OpenMoe",
    own_rule: OwnSizes::Rest(rest),
    sizes: Sizes::of([2048, 8192], 24, 24, 256_384, 2048),
    experts: Some(Experts { chosen_by: &["moe_layer_interval"], ..Experts::of(32, 2) }),
    ..super::counted::FAMILY
};
