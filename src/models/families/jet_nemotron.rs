//! `jet_nemotron` (code of its own on the hub, `jet-ai/Jet-Nemotron-4B`): a gated delta rule with
//! convolutions that tokens make, in place of attention in most layers. Its parameters are counted
//! alone.

use crate::models::prelude::*;

/// Layers of the delta rule, and of attention.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let of_group =
        |key: &str, default: u64| said("efficient_attention_config.jet", key).unwrap_or(default);
    let (heads, head) = (of_group("num_heads", 6), of_group("head_dim", 256));
    let (keys, values) = (heads * head, heads * head * of_group("expand_v", 2));
    let narrow = values / of_group("dconv_generator_reduction", 8).max(1);
    let taps = values * of_group("conv_size", 4);
    let makes_taps = h * narrow + narrow * taps + taps;
    let rule = h * (2 * keys + 2 * values + 2 * heads)
        + values * h
        + 2 * heads
        + head * of_group("expand_v", 2)
        + makes_taps;
    let rules = said("layer_types", "jet").unwrap_or(0);
    rules * rule + model.num_hidden_layers.saturating_sub(rules) * attention(model)
}

/// `jet_nemotron`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["jet_nemotron"],
    class: "JetNemotron",
    own_rule: OwnSizes::RestOfFile(rest),
    attention_bias: Flag::Is(true),
    sizes: Sizes::of([4096, 22_016], 32, 32, 151_936, 32_768).kv(32),
    tied: true,
    not_looked_at: &["layer_types", "max_window_layers"],
    ..super::counted::FAMILY
};
