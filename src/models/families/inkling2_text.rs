//! `inkling2_text` (transformers 5.23, `models/inkling2`): each half reads earlier blocks by a
//! learned query; relative positions, gates and sinks in attention, short convolutions. Its
//! parameters are counted alone.

use crate::models::prelude::*;

/// Attention of both kinds of layers, convolutions, queries of what each half reads, and norms.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let [relative, extent, tokens, window, heads, key_heads, width, ..] = own;
    let (layers, h) = (model.num_hidden_layers, model.hidden_size);
    let layer = |[a, kv, d, extent]: [u64; 4]| {
        h * (3 * a * d + 2 * kv * d + a * relative + a) + relative * extent + a * d + a * relative
    };
    let whole = [model.num_attention_heads, model.num_key_value_heads, model.head_dim];
    let moving = 2 * tokens * (whole[1] * whole[2] + h * whole[1]);
    let sliding = super::inkling_text::sliding(model, said);
    let full = layers - sliding;
    let of_sliding = layer([*heads, *key_heads, *width, *window]) + 2 * key_heads * width * tokens;
    let of_full = layer([whole[0], whole[1], whole[2], *extent]) + moving;
    // A layer without a window reads three inputs, with a norm each; the first layer reads the
    // embedding alone.
    let first = if said("layer_types", "^hybrid") == Some(1) { 3 } else { 1 };
    let read = (layers + sliding + 3 * full + 1).saturating_sub(first) * h;
    sliding * of_sliding + full * of_full + layers * 2 * h * tokens + read + full * 2 * h
}

/// `inkling2_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["inkling2_text"],
    class: "Inkling2",
    labels: &[("inkling2", "Inkling 2")],
    modules: &Modules {
        model_type: "inkling2_text",
        choice: FamilyChoice { rank: 643, word: "inkling2", label: "Inkling 2" },
        ..Modules::COUNTED
    },
    own_sizes: &[
        ("d_rel", 16),
        ("rel_extent", 1024),
        ("conv_kernel_size", 4),
        ("sliding_window_size", 1024),
        ("swa_num_attention_heads", 48),
        ("swa_num_key_value_heads", 8),
        ("swa_head_dim", 128),
    ],
    own_rule: OwnSizes::Rest(rest),
    not_looked_at: &["layer_types", "unpadded_vocab_size", "n_layers_per_attn_res_block"],
    only: &[],
    inner: InnerWidth::Stated(&["moe_intermediate_size"]),
    sizes: Sizes::of([4608, 2304], 48, 48, 201_024, 1_048_576).kv(8).head(128),
    experts: Some(Experts { width_is_inner: false, ..Experts::of(384, 8) }),
    ..super::inkling_text::FAMILY
};
