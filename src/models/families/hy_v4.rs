//! `hy_v4` (transformers 5.23, `models/hy_v4`), Hunyuan 4: several residual streams, latent
//! attention with a gate and sinks, an indexer whose choice later layers share. Its parameters are
//! counted alone.

use crate::models::prelude::*;

/// Layers with an indexer. Where nothing is listed, the first, and every fourth from the second on.
fn indexed(layers: u64, said: Said<'_>) -> u64 {
    let every_fourth =
        || 1 + (1..layers).filter(|layer| (layer - 1).is_multiple_of(4)).map(|_| 1).sum::<u64>();
    said("indexer_types", "full").unwrap_or_else(every_fourth)
}

/// Latent attention with a gate and sinks, indexers, and what mixes the streams: before each half,
/// and behind the last layer.
fn rest(model: &Counted, [streams, heads, width, ..]: &Own, said: Said<'_>) -> u64 {
    let (layers, h, a) = (model.num_hidden_layers, model.hidden_size, model.num_attention_heads);
    let indexed = indexed(layers, said);
    let value = model.mla.map_or(0, |mla| mla.v_head_dim);
    let mixing = 2 * streams * streams * h + 2 * streams + 2;
    let last = streams * streams * h + streams + 1;
    layers * (latent_attention(model) + h * a * value + a + 2 * mixing)
        + indexed * indexer(model, [*heads, *width])
        + last
}

/// Latent vectors, rotated keys, and the keys of indexers.
fn keeps(model: &Counted, [_, _, width, ..]: &Own, said: Said<'_>) -> Vec<CachePart> {
    let layers = model.num_hidden_layers;
    latents(model, layers, layers)
        .into_iter()
        .chain([index_keys(indexed(layers, said), *width)])
        .collect()
}

/// `hy_v4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hy_v4"],
    class: "HYV4",
    labels: &[("hy_v4", "Hunyuan 4")],
    modules: &Modules {
        model_type: "hy_v4",
        choice: FamilyChoice { rank: 611, word: "hy-v4", label: "Hunyuan 4" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[("hc_mult", 4), ("index_n_heads", 16), ("index_head_dim", 128)],
    not_looked_at: &["layer_types", "indexer_types", "index_topk", "head_dim", "qk_head_dim"],
    sizes: Sizes::of([2816, 6912], 34, 32, 120_832, 262_144),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 768,
        shared: 1,
        first_dense: 1,
        chosen_by: &["mlp_layer_types"],
        ..Experts::of(256, 8)
    }),
    latent: Some(Latent { query_rank: 1536, rank: 512, rope: 64, nope: 192, value: 256 }),
    ..FamilySpec::PLAIN
};
