//! `rwkv7` (code of its own on the hub, `fla-core` 0.6, `models/rwkv7`): a delta rule with vectors
//! of decay and of rates that tokens make. Its parameters are counted alone.

use super::gla::{attends_or, stated};
use crate::models::prelude::*;

/// Mixing of time and of channels, narrow layers, and a norm before the first layer.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, layers) = (model.hidden_size, model.num_hidden_layers);
    let narrow = |key: &str, otherwise: u64| 2 * h * stated(said, key, otherwise);
    let (decay, rate) = (narrow("decay_low_rank_dim", 64) + h, narrow("a_low_rank_dim", 64) + h);
    let gate = narrow("gate_low_rank_dim", 128);
    // The first layer's values are mixed into those of the others.
    let values = layers.saturating_sub(1) * (narrow("v_low_rank_dim", 16) + h);
    let time = 6 * h + 3 * h + 4 * h * h + decay + rate + gate + 2 * h;
    let first = stated(said, "norm_first", 1) * 2 * h;
    attends_or(model, said, time) + values + layers * h + first
}

/// `rwkv7`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["rwkv7"],
    class: "RWKV7",
    labels: &[("rwkv7", "RWKV-7")],
    older_names: true,
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2048, 0], 24, 32, 32_000, 2048),
    rounds_heads_down: true,
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    positions: Positions::Are(PositionEmbedding::None),
    only: &[
        Only::else_refused("attn", &[], "attention in some layers"),
        Only::else_refused("norm_bias", &["true"], "norms without biases"),
        Only::else_refused("hidden_ratio", &["4", "4.0"], "a feed-forward layer of another width"),
    ],
    ..super::counted::FAMILY
};
