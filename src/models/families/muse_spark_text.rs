//! `muse_spark_text` (transformers 5.23, `models/muse_spark`): gated attention, experts that are
//! narrower than the residual stream, gates of what each half adds. Its parameters are counted
//! alone.

use crate::models::prelude::*;

/// Gated attention, experts between two projections, norms of these, one more norm in a block, and
/// gates.
fn rest(model: &Counted, [narrow, ..]: &Own, said: Said<'_>) -> u64 {
    let (layers, h) = (model.num_hidden_layers, model.hidden_size);
    let sparse = said("mlp_layer_types", "sparse").unwrap_or(layers);
    let experts = model
        .moe
        .as_ref()
        .map_or(0, |moe| moe.num_experts * (3 * narrow * moe.moe_intermediate_size + h));
    let feed = sparse * (experts + 2 * h * narrow + 2 * narrow)
        + (layers - sparse) * 3 * h * model.intermediate_size;
    let gate = h * model.num_attention_heads * model.head_dim;
    layers * (attention(model) + gate + 3 * h) + feed
}

/// Keys and values; of three of four layers no more than a window. Every fourth from the last one
/// on sees the whole text.
fn keeps(model: &Counted, [_, window, ..]: &Own, said: Said<'_>) -> Vec<CachePart> {
    let (layers, shape) = (model.num_hidden_layers, [model.num_key_value_heads, model.head_dim]);
    let whole =
        said("layer_types", "full_attention").unwrap_or_else(|| layers.div_ceil(4)).min(layers);
    let sliding = keys_and_values(layers - whole, shape).map(|part| part.within(*window));
    keys_and_values(whole, shape).into_iter().chain(sliding).collect()
}

/// `muse_spark_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["muse_spark_text"],
    class: "MuseSpark",
    labels: &[("muse_spark", "Muse Spark")],
    modules: &Modules {
        model_type: "muse_spark_text",
        choice: FamilyChoice { rank: 646, word: "muse-spark", label: "Muse Spark" },
        encoder: EncoderModules { counts_feed_forward: true, ..EncoderModules::COUNTED },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[("moe_hidden_size", 4096), ("sliding_window", 2048)],
    not_looked_at: &["layer_types", "layer_rope_theta"],
    sizes: Sizes::of([8192, 16_384], 62, 128, 202_048, 1_048_576).kv(16).head(64),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts { width: 4096, chosen_by: &["mlp_layer_types"], ..Experts::of(256, 8) }),
    ..FamilySpec::PLAIN
};
