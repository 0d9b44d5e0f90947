//! `axk2` (transformers 5.23, `models/axk2`), A.X K2: latent attention with a gate from the narrow queries, an indexer in every layer, norms
//! that a narrow layer gates. Its parameters are counted alone.

use crate::models::prelude::*;

/// Latent attention whose queries and gate come from queries and normed queries side by side, an indexer, and gates of norms.
fn rest(model: &Counted, [gate, heads, width, ..]: &Own, _: Said<'_>) -> u64 {
    let Some(mla) = model.mla else { return 0 };
    let (rank, a) = (mla.q_lora_rank.unwrap_or(0), model.num_attention_heads);
    let gated = 2 * rank * a * (mla.qk_head_dim() + mla.v_head_dim) - rank * a * mla.qk_head_dim();
    let gates = (model.num_hidden_layers + sparse_layers(model)) * 2 * model.hidden_size * gate;
    model.num_hidden_layers * (latent_attention(model) + gated + indexer(model, [*heads, *width])) + gates
}

/// Latent vectors, rotated keys, and the keys of an indexer in every layer.
fn keeps(model: &Counted, [_, _, width, ..]: &Own, _: Said<'_>) -> Vec<CachePart> {
    let layers = model.num_hidden_layers;
    latents(model, layers, layers).into_iter().chain([index_keys(layers, *width)]).collect()
}

/// `axk2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["axk2"],
    class: "AXK2",
    labels: &[("axk2", "A.X K2")],
    modules: &Modules {
        model_type: "axk2",
        choice: FamilyChoice { rank: 610, word: "axk2", label: "A.X K2" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[("gated_norm_rank", 16), ("index_n_heads", 16), ("index_head_dim", 128)],
    not_looked_at: &["layer_types", "index_topk", "head_dim", "qk_head_dim"],
    sizes: Sizes::of([2048, 5120], 48, 32, 163_840, 131_072),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts { width: 512, shared: 1, first_dense: 1, chosen_by: FROM_FIRST, ..Experts::of(128, 8) }),
    latent: Some(Latent { query_rank: 384, rank: 128, rope: 32, nope: 64, value: 64 }),
    ..FamilySpec::PLAIN
};
