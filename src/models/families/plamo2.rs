//! `plamo2` (code of its own on the hub, `pfnet/plamo-2-1b`): a state in every so many layers,
//! attention in the others, a norm before and behind either half. Its parameters are counted alone.

use crate::models::prelude::*;

/// Layers of a state, and of attention with a scale for every column of queries and keys.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, layers) = (model.hidden_size, model.num_hidden_layers);
    let key = |key: &str, default: u64| said("", key).unwrap_or(default);
    let (heads, state) = (key("mamba_num_heads", 64), key("mamba_d_state", 64));
    let (columns, narrow) = (heads * model.head_dim, (h / 16).max(64));
    let decays = columns * (narrow + 2 * state) + narrow * heads + 3 * heads + narrow + 2 * state;
    let mixing = 3 * h * columns + columns * key("mamba_d_conv", 4) + decays;
    let step = key("mamba_step", 2).max(1);
    let attends = match (key("mamba_enabled", 1), layers <= step / 2) {
        (0, _) => layers,
        (_, true) => 1,
        (_, false) => (layers + step - 1 - step / 2) / step,
    };
    let scales = (model.num_attention_heads + model.num_key_value_heads) * model.head_dim;
    attends * (attention(model) + scales) + (layers - attends) * mixing
}

/// `plamo2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["plamo2"],
    class: "Plamo2",
    labels: &[("plamo2", "PLaMo 2")],
    own_names: &[("head_dim", &["hidden_size_per_head"])],
    own_rule: OwnSizes::RestOfFile(rest),
    norms: Norms::Are(4),
    sizes: Sizes::of([4096, 13_312], 32, 32, 32_000, 2048).kv(4).head(128),
    not_looked_at: &["attention_window_size", "mamba_chunk_size", "full_attention_idx"],
    ..super::counted::FAMILY
};
