//! `yuan` (code of its own on the hub, `IEITYuan/Yuan2-2B-hf`): llama whose queries and keys are
//! made of tokens that two convolutions have mixed with those before them. Its parameters are
//! counted alone.

use crate::models::prelude::*;

/// Attention, two convolutions over two tokens with their biases, and a norm behind them.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let half = h / 2;
    model.num_hidden_layers * (attention(model) + 4 * h * half + half + h + h)
}

/// `yuan`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["yuan"],
    class: "Yuan",
    key_value_heads: KeyValueHeads::AsQueryHeads,
    own_rule: OwnSizes::Rest(rest),
    sizes: Sizes::of([2048, 8192], 24, 32, 135_040, 8192),
    only: &[Only::else_refused("use_shareqk", &["false"], "queries and keys from one matrix")],
    ..super::counted::FAMILY
};
