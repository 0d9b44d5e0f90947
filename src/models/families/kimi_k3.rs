//! The text part of Kimi K3 (code of its own on the hub, `moonshotai/Kimi-K3`), whose files go by
//! the name of Kimi Linear: gates on both kinds of attention, experts that work on a narrower
//! width, and sums over the outputs of earlier blocks. Its parameters are counted alone.

use crate::models::prelude::*;

/// Layers of the delta rule; latent attention with its gate; a norm of what experts make; queries
/// and norms of the sums over blocks.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let (h, layers) = (model.hidden_size, model.num_hidden_layers);
    let of_group = |key: &str, default: u64| said("linear_attn_config", key).unwrap_or(default);
    let (heads, d) = (of_group("num_heads", 32), of_group("head_dim", 128));
    let columns = heads * d;
    let gate =
        if of_group("use_full_rank_gate", 0) > 0 { h * columns } else { h * d + d * columns };
    let decay = h * d + d * columns + h * heads + heads + columns;
    let rule =
        3 * columns * (h + of_group("short_conv_kernel_size", 4)) + decay + gate + d + columns * h;
    let rules = said("linear_attn_config.kda_layers", "").unwrap_or(0);
    let values = model.num_attention_heads * model.mla.map_or(0, |mla| mla.v_head_dim);
    let gated = said("", "mla_use_output_gate").unwrap_or(0) * h * values;
    let normed = said("", "latent_moe_use_norm").unwrap_or(0)
        * model.moe.as_ref().map_or(0, |moe| moe.latent);
    let sums = if said("", "attn_res_block_size").is_some() { (4 * layers + 2) * h } else { 0 };
    let attends = layers.saturating_sub(rules);
    rules * rule
        + attends * (latent_attention(model) + gated)
        + sparse_layers(model) * normed
        + sums
}

/// `kimi_linear` with `routed_expert_hidden_size`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["kimi_k3_text"],
    class: "KimiK3Text",
    labels: &[("kimi_k3_text", "Kimi K3")],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([7168, 33_792], 93, 96, 163_840, 1_048_576),
    latent: super::kimi_linear::FAMILY.latent,
    experts: match super::kimi_linear::FAMILY.experts {
        Some(experts) => Some(Experts { narrows: true, ..experts }),
        None => None,
    },
    not_looked_at: &["hidden_act", "activation_situ_linear_beta"],
    ..super::counted::FAMILY
};
