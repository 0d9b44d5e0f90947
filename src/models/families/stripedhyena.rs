//! `stripedhyena` (code of its own on the hub, `togethercomputer/evo-1-131k-base`): long
//! convolutions in place of attention in most layers. Its parameters are counted alone.

use crate::models::prelude::*;

/// Layers of attention, and of convolutions: a short one of three times the width, and a long one
/// by poles and residues.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let key = |key: &str, default: u64| said("", key).unwrap_or(default);
    let keys = 2 * (h / key("proj_groups", 1).max(1));
    let attention = h * (h + keys)
        + key("qkv_proj_bias", 1) * (h + keys)
        + h * h
        + key("mha_out_proj_bias", 1) * h;
    let short = 3 * h * (key("short_filter_length", 3) + key("short_filter_bias", 1));
    let long = h + 4 * (h / key("hyena_filter_groups", h).max(1)) * key("state_size", 8);
    let hyena = 3 * h * (h + 1) + short + long + h * (h + 1);
    let attends = said("attn_layer_idxs", "").unwrap_or(0);
    attends * attention + model.num_hidden_layers.saturating_sub(attends) * hyena
}

/// `stripedhyena`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["stripedhyena"],
    class: "StripedHyenaModel",
    older_names: true,
    own_rule: OwnSizes::RestOfFile(rest),
    inner: InnerWidth::Stated(&["intermediate_size", "inner_mlp_size"]),
    sizes: Sizes::of([4096, 10_928], 32, 32, 512, 131_072),
    tied: true,
    act: HiddenAct::Gelu,
    only: &[Only::else_refused("tie_embeddings", &["true"], "an output head of its own")],
    not_looked_at: &[
        "hyena_layer_idxs",
        "model_parallel_size",
        "pipe_parallel_size",
        "make_vocab_size_divisible_by",
    ],
    ..super::counted::FAMILY
};
