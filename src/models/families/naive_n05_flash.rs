//! `naive_n05_flash` (code of its own on the hub, `NaiveAI-Labs/Naive-N0.5-Flash`): MiMo-V2-Flash
//! with an indexer in the layers that see the whole text. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention of layers that see the whole text with their indexer, and of those that slide with
/// their sinks.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, layers) = (model.hidden_size, model.num_hidden_layers);
    let key = |key: &str, default: u64| said("", key).unwrap_or(default);
    let matrices = |heads: u64, keys: u64, width: u64, values: u64| {
        h * (heads * (width + values) + keys * (width + values))
    };
    let values = key("v_head_dim", 128);
    let full =
        matrices(model.num_attention_heads, model.num_key_value_heads, model.head_dim, values);
    let (index, width) = (key("index_n_heads", 16), key("index_head_dim", 128));
    let indexer = key("enable_dsa", 1) * (h * index * width + h * width + 2 * width + h * index);
    let heads = key("swa_num_attention_heads", model.num_attention_heads);
    let near = matrices(
        heads,
        key("swa_num_key_value_heads", 8),
        key("swa_head_dim", model.head_dim),
        key("swa_v_head_dim", values),
    );
    let sinks = key("add_swa_attention_sink_bias", 1) * heads;
    let of_full = key("add_full_attention_sink_bias", 0) * model.num_attention_heads;
    let slide = said("hybrid_layer_pattern", "1").unwrap_or(0);
    slide * (near + sinks) + layers.saturating_sub(slide) * (full + indexer + of_full)
}

/// `naive_n05_flash`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["naive_n05_flash"],
    class: "NaiveN05Flash",
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: super::mimo_v2_flash::FAMILY.sizes,
    rotary_percent: super::mimo_v2_flash::FAMILY.rotary_percent,
    experts: super::mimo_v2_flash::FAMILY.experts,
    only: &[Only::else_refused("attention_bias", &["false"], "biases on queries, keys and values")],
    not_looked_at: &[
        "index_n_kv_heads",
        "indexer_activation_dtype",
        "attention_chunk_size",
        "sliding_window",
        "sliding_window_size",
        "hybrid_block_size",
        "attention_projection_layout",
    ],
    ..super::counted::FAMILY
};
