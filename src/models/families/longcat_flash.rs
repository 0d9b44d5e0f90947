//! `longcat_flash` (transformers 5.23, `models/longcat_flash`): each layer has two of latent
//! attention and two dense ones, and experts beside them, of which some do nothing. Its parameters
//! are counted alone.

use crate::models::prelude::*;

/// Twice latent attention and a dense layer, two further norms, and rows of experts that do
/// nothing.
fn rest(model: &Counted, [zero, ..]: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let width = model.moe.as_ref().map_or(0, |moe| moe.moe_intermediate_size);
    let dense = 3 * h * model.intermediate_size;
    model.num_hidden_layers
        * (2 * (latent_attention(model) + dense + h) + zero * (2 * width * h + h))
}

/// Latent vectors and rotated keys of both attentions of a layer.
fn keeps(model: &Counted, _: &Own, _: Said<'_>) -> Vec<CachePart> {
    latents(model, 2 * model.num_hidden_layers, 2 * model.num_hidden_layers).into()
}

/// `longcat_flash`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["longcat_flash"],
    class: "LongcatFlash",
    labels: &[("longcat_flash", "LongCat-Flash")],
    modules: &Modules {
        model_type: "longcat_flash",
        choice: FamilyChoice { rank: 613, word: "longcat-flash", label: "LongCat-Flash" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    older_names: true,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_hidden_size"]),
    // Experts that do nothing have rows in the weights of gate and up, and in the router's.
    own_sizes: &[("zero_expert_num", 256)],
    not_looked_at: &["head_dim", "zero_expert_type"],
    sizes: Sizes::of([6144, 12_288], 28, 64, 131_072, 131_072),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts { width: 2048, ..Experts::of(512, 12) }),
    latent: Some(Latent { query_rank: 1536, rank: 512, rope: 64, nope: 128, value: 128 }),
    ..FamilySpec::PLAIN
};
