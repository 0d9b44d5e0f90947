//! `mistral_large4_text` (transformers 5.23, `models/mistral_large4`): latent attention with whole
//! queries, scales of the scores, layers that rotate nothing, indexers. Its parameters are counted
//! alone.

use crate::models::prelude::*;

/// Layers that rotate a part of each head. Where nothing is listed, every fourth does not.
fn rotate(model: &Counted, listed: u64) -> u64 {
    or(listed, model.num_hidden_layers - model.num_hidden_layers / 4)
}

/// Latent attention, which is wider in layers that rotate nothing, scales, and indexers with a norm
/// of their queries' input.
fn rest(model: &Counted, [heads, width, rotating, ..]: &Own, said: Said<'_>) -> u64 {
    let Some(mla) = model.mla else { return 0 };
    let (layers, h, a) = (model.num_hidden_layers, model.hidden_size, model.num_attention_heads);
    let whole = layers - rotate(model, *rotating);
    let bias = u64::from(model.attention_bias);
    let latent = latent_attention(model) + 2 * a;
    // Elsewhere keys that rotate have a matrix; here the latents make them.
    let more = mla.qk_rope_head_dim * mla.kv_lora_rank * a;
    let less = mla.qk_rope_head_dim * (h + bias);
    let indexer = h * (heads * width + width + heads) + 2 * width + 2 * h + 2 * heads;
    let indexed = said("indexer_types", "full").unwrap_or(layers);
    (layers * latent + whole * more + indexed * indexer).saturating_sub(whole * less)
}

/// Latent vectors, rotated keys where something is rotated, and the keys of indexers.
fn keeps(model: &Counted, [_, width, rotating, ..]: &Own, said: Said<'_>) -> Vec<CachePart> {
    let layers = model.num_hidden_layers;
    let indexed = said("indexer_types", "full").unwrap_or(layers);
    latents(model, layers, rotate(model, *rotating))
        .into_iter()
        .chain([index_keys(indexed, *width)])
        .collect()
}

/// `mistral_large4_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mistral_large4_text"],
    class: "MistralLarge4",
    labels: &[("mistral_large4", "Mistral Large 4")],
    modules: &Modules {
        model_type: "mistral_large4_text",
        choice: FamilyChoice { rank: 647, word: "mistral-large-4", label: "Mistral Large 4" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[("index_n_heads", 32), ("index_head_dim", 128)],
    own_groups: &[("no_rope_layers", &[("1", UNSTATED)])],
    only: &[Only::else_refused(
        "kv_source_layers",
        &["0, 1, 2, …"],
        "keys and values that layers share",
    )],
    not_looked_at: &["layer_types", "indexer_types", "index_topk", "head_dim", "qk_head_dim"],
    sizes: Sizes::of([6144, 24_576], 72, 64, 204_800, 1_048_576),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 6144,
        shared: 1,
        first_dense: 1,
        chosen_by: &["mlp_layer_types", "first_k_dense_replace"],
        ..Experts::of(128, 4)
    }),
    latent: Some(Latent { query_rank: 0, rank: 512, rope: 64, nope: 64, value: 128 }),
    ..FamilySpec::PLAIN
};
