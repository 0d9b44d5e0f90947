//! `zaya` (transformers 5.23, `models/zaya`): two convolutions over queries and keys, values of the
//! token and of the one before, a router of three layers that reads the router before it, and
//! scales of all that is added. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention with its convolutions, routers in place of one matrix each, and scales.
fn rest(model: &Counted, [first, second, width, ..]: &Own, _: Said<'_>) -> u64 {
    let (layers, h, d) = (model.num_hidden_layers, model.hidden_size, model.head_dim);
    let (queries, keys) = (model.num_attention_heads * d, model.num_key_value_heads * d);
    let columns = queries + keys;
    let convolutions = columns * first + columns + columns * d * second + columns;
    let bias = u64::from(model.attention_bias) * (queries + 2 * keys + h);
    let attention =
        2 * h * queries + 2 * h * keys + bias + convolutions + model.num_key_value_heads;
    let experts = model.moe.as_ref().map_or(0, |moe| moe.num_experts);
    let router = width * h + 3 * width + 2 * (width * width + width) + (experts + 1) * width;
    // The first layer reads no router before it.
    let all = layers * (attention + router + 8 * h) + 2 * h;
    all.saturating_sub(layers * experts * h + width)
}

/// Keys and values, the last tokens that the convolutions see again, and half of the values of the
/// last token.
fn keeps(model: &Counted, [first, second, _, window, ..]: &Own, said: Said<'_>) -> Vec<CachePart> {
    let (layers, kv, d) = (model.num_hidden_layers, model.num_key_value_heads, model.head_dim);
    let sliding = said("layer_types", "hybrid_sliding").unwrap_or(0);
    let last = (model.num_attention_heads + kv) * d * (first + second).saturating_sub(2);
    let mut parts = Vec::from(keys_and_values(layers - sliding, [kv, d]));
    parts.extend(keys_and_values(sliding, [kv, d]).map(|part| part.within(*window)));
    parts.push(CachePart::of(CachePartKind::LastTokens, layers, last).once());
    parts.push(CachePart::of(CachePartKind::State, layers, kv * d / 2).once());
    parts
}

/// `zaya`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["zaya"],
    class: "Zaya",
    labels: &[("zaya", "ZAYA")],
    modules: &Modules {
        model_type: "zaya",
        choice: FamilyChoice { rank: 641, word: "zaya", label: "ZAYA" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[
        ("cca_time0", 2),
        ("cca_time1", 2),
        ("router_hidden_size", 256),
        ("sliding_window", 0),
    ],
    not_looked_at: &["layer_types"],
    inner: InnerWidth::Stated(&["moe_intermediate_size"]),
    sizes: Sizes::of([2048, 2048], 40, 8, 262_272, 131_072).kv(2).head(128),
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    head_bias: Flag::Key("lm_head_bias", false),
    experts: Some(Experts { width_is_inner: false, ..Experts::of(16, 1) }),
    ..FamilySpec::PLAIN
};
