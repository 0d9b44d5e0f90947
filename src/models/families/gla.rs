//! `gla` (code of its own on the hub, `fla-core` 0.6, `models/gla`): linear attention with a decay
//! that tokens make. Its parameters are counted alone, as are those of the other kinds of that
//! library that keep a state.

use crate::models::prelude::*;

/// Width of the matrices that make the decay.
const NARROW: u64 = 16;

/// A number that a file states, or else the library's.
pub(super) fn stated(said: Said<'_>, key: &str, otherwise: u64) -> u64 {
    said("", key).unwrap_or(otherwise)
}

/// A multiple of the hidden size that a file states, or else that many halves of it.
pub(super) fn widened(model: &Counted, said: Said<'_>, key: &str, halves: u64) -> u64 {
    said("", &format!("{key}*{}", model.hidden_size)).unwrap_or(model.hidden_size * halves / 2)
}

/// Taps of short convolutions over so many columns, where files say that there are some.
pub(super) fn convolved(said: Said<'_>, columns: u64, otherwise: u64) -> u64 {
    stated(said, "use_short_conv", otherwise) * stated(said, "conv_size", 4) * columns
}

/// Layers that have attention are listed (`attn`); the others have so many parameters each in its
/// place.
pub(super) fn attends_or(model: &Counted, said: Said<'_>, mixing: u64) -> u64 {
    let attends = said("attn.layers", "").unwrap_or(0);
    let of_group = |key: &str, otherwise: u64| said("attn", key).unwrap_or(otherwise);
    let h = model.hidden_size;
    let heads = of_group("num_heads", 1).max(1);
    let keys = h / heads * of_group("num_kv_heads", heads);
    let attention = 2 * h * (h + keys) + of_group("qkv_bias", 0) * (h + 2 * keys);
    attends * attention + model.num_hidden_layers.saturating_sub(attends) * mixing
}

/// Widths of keys and of values, of one group of heads: as many as there are query heads to a key.
pub(super) fn grouped(model: &Counted, [keys, values]: [u64; 2]) -> [u64; 2] {
    let groups = (model.num_attention_heads / model.num_key_value_heads.max(1)).max(1);
    [keys / groups, values / groups]
}

/// Projections, a gate, and convolutions over queries, keys and values; a norm over each head's
/// values, and the output projection.
pub(super) fn mixing(model: &Counted, said: Said<'_>, [keys, values]: [u64; 2]) -> u64 {
    let h = model.hidden_size;
    let [fewer_keys, fewer_values] = grouped(model, [keys, values]);
    let gate = stated(said, "use_output_gate", 1) * h * values;
    let norm = stated(said, "elementwise_affine", 1) * (values / model.num_attention_heads.max(1));
    let columns = keys + fewer_keys + fewer_values;
    h * columns + convolved(said, columns, 0) + gate + norm + values * h
}

/// Queries and keys of half the hidden size, and a decay for every key.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let widths = [widened(model, said, "expand_k", 1), widened(model, said, "expand_v", 2)];
    let [keys, _] = grouped(model, widths);
    let decay = NARROW * (model.hidden_size + keys) + keys;
    attends_or(model, said, mixing(model, said, widths) + decay)
}

/// `gla`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gla"],
    class: "GLA",
    labels: &[("gla", "GLA")],
    older_names: true,
    rounds_heads_down: true,
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([2048, 0], 24, 4, 32_000, 2048),
    inner: InnerWidth::TwoThirds { may_be_stated: true, default: 4 },
    positions: Positions::Are(PositionEmbedding::None),
    only: &[
        Only::else_refused("attn", &["{…}"], "attention of several shapes"),
        Only::else_refused("attnres_block_size", &[], "residual streams that attention weighs"),
        Only::else_refused(
            "feature_map",
            &["swish", "relu", "silu"],
            "a map of features with weights",
        ),
    ],
    not_looked_at: &["gate_logit_normalizer", "share_conv_kernel"],
    ..super::counted::FAMILY
};
