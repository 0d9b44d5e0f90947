//! `inkling_text` (transformers 5.23, `models/inkling`): relative positions in the scores, short
//! convolutions behind keys, values and both halves, layers that slide with heads of their own. Its
//! parameters are counted alone.

use crate::models::prelude::*;

/// Keys of layers that slide: heads, key/value heads, their width, and tokens that a query sees.
pub(super) const SLIDING: &str = "hybrid_sliding";

/// Layers that slide. Where nothing is listed, every sixth does not.
pub(super) fn sliding(model: &Counted, said: Said<'_>) -> u64 {
    said("layer_types", SLIDING).unwrap_or(model.num_hidden_layers - model.num_hidden_layers / 6)
}

/// Attention with relative positions, convolutions, norms, and what routers have beside a matrix.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let [relative, extent, tokens, window, heads, key_heads, width, shared, ..] = own;
    let h = model.hidden_size;
    let layer = |[a, kv, d, extent]: [u64; 4]| {
        2 * h * a * d
            + 2 * h * kv * d
            + a * relative * h
            + 2 * kv * d * tokens
            + 2 * d
            + relative * extent
    };
    let whole =
        layer([model.num_attention_heads, model.num_key_value_heads, model.head_dim, *extent]);
    let sliding = sliding(model, said);
    let attention = sliding * layer([*heads, *key_heads, *width, *window])
        + (model.num_hidden_layers - sliding) * whole;
    attention + model.num_hidden_layers * (2 * h * tokens + 1) + sparse_layers(model) * shared * h
}

/// Keys and values of both kinds of layers, and what four convolutions see again, which run in
/// fp32.
pub(super) fn keeps(model: &Counted, own: &Own, said: Said<'_>) -> Vec<CachePart> {
    let [_, _, tokens, window, _, key_heads, width, ..] = *own;
    let (sliding, whole) = (sliding(model, said), [model.num_key_value_heads, model.head_dim]);
    let full = model.num_hidden_layers - sliding;
    let last = |layers, [heads, width]: [u64; 2]| {
        CachePart::of(
            CachePartKind::LastTokens,
            layers,
            2 * tokens * (heads * width + model.hidden_size),
        )
        .once()
        .wide()
    };
    let mut parts = Vec::from(keys_and_values(full, whole));
    parts.extend(keys_and_values(sliding, [key_heads, width]).map(|part| part.within(window)));
    parts.extend([last(full, whole), last(sliding, [key_heads, width])]);
    parts
}

/// `inkling_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["inkling_text"],
    class: "Inkling",
    labels: &[("inkling", "Inkling"), ("inkling_mm_model", "Inkling")],
    modules: &Modules {
        model_type: "inkling_text",
        choice: FamilyChoice { rank: 642, word: "inkling", label: "Inkling" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[
        ("d_rel", 16),
        ("rel_extent", 1024),
        ("conv_kernel_size", 4),
        ("sliding_window_size", 512),
        ("swa_num_attention_heads", 64),
        ("swa_num_key_value_heads", 16),
        ("swa_head_dim", 128),
        ("n_shared_experts", 2),
    ],
    not_looked_at: &[
        "layer_types",
        "number_of_conv_states",
        "unpadded_vocab_size",
        "mtp_local_layer_ids",
        "shared_expert_sink",
    ],
    only: &[Only::else_refused("local_layer_ids", &["null"], "layers that slide listed apart")],
    sizes: Sizes::of([6144, 24_576], 66, 64, 201_024, 131_072).kv(8).head(128),
    ties: Ties::Never,
    embedding_norm: true,
    experts: Some(Experts {
        width: 3072,
        shared: 2,
        chosen_by: &["mlp_layer_types"],
        ..Experts::of(256, 6)
    }),
    ..FamilySpec::PLAIN
};
