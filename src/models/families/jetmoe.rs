//! `jetmoe` (transformers 5.23, `models/jetmoe`): experts in the feed-forward layer, and experts
//! that make queries and output of attention. Its parameters are counted alone.

use crate::models::prelude::*;

/// Experts of attention with their router and a bias, keys and values, and a bias behind the
/// experts of the feed-forward layer.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let (h, columns) = (model.hidden_size, model.num_key_value_heads * model.head_dim);
    let experts = model.moe.as_ref().map_or(0, |moe| moe.num_experts);
    model.num_hidden_layers * (2 * experts * columns * h + experts * h + 2 * columns * h + 2 * h)
}

/// `jetmoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["jetmoe"],
    class: "JetMoe",
    labels: &[("jetmoe", "JetMoE")],
    modules: &Modules {
        model_type: "jetmoe",
        choice: FamilyChoice { rank: 616, word: "jetmoe", label: "JetMoE" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps_heads),
    older_names: true,
    sizes: Sizes::of([2048, 5632], 12, 32, 32_000, 4096).kv(16).head(128),
    tied: true,
    experts: Some(Experts::of(8, 2)),
    ..FamilySpec::PLAIN
};
