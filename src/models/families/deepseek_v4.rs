//! `deepseek_v4` (transformers 5.23, `models/deepseek_v4`): several residual streams; one key that is the value too, of which most layers keep a
//! compressed copy beside a window, and some choose by an indexer; a grouped output projection. Its parameters are counted alone.

use crate::models::prelude::*;

/// Layers that compress keys and choose among them, and layers that compress them more: listed by their words or by the rates.
const COMPRESSED: [(&str, &str); 2] = [("compressed_sparse_attention", "4"), ("heavily_compressed_attention", "128")];

/// Layers of those two sorts. Where nothing is listed, the first two compress more, and so does every second one behind them.
fn compressed(model: &Counted, said: Said<'_>) -> [u64; 2] {
    let listed = COMPRESSED.map(|(word, rate)| said("layer_types", word).or_else(|| said("compress_ratios", rate)));
    let choose = model.num_hidden_layers.saturating_sub(2) / 2;
    [listed[0].unwrap_or(choose), listed[1].unwrap_or(model.num_hidden_layers - choose)]
}

/// How many tokens either sort makes one key of.
fn rates(said: Said<'_>) -> [u64; 2] {
    COMPRESSED.map(|(word, rate)| said("compress_rates", word).or_else(|| rate.parse().ok()).unwrap_or(0))
}

/// Attention with sinks, compressors, indexers, and what mixes the streams: before each half, and behind the last layer.
fn rest(model: &Counted, [rank, groups, narrow, heads, width, streams, ..]: &Own, said: Said<'_>) -> u64 {
    let (h, a, d) = (model.hidden_size, model.num_attention_heads, model.head_dim);
    let queries = h * rank + rank + rank * a * d;
    let output = a * d * narrow + groups * narrow * h;
    let compressor = |rate: u64, width: u64| 2 * h * width + rate * width;
    let [near, far] = rates(said);
    let index = compressor(near, 2 * width) + width + rank * heads * width + h * heads;
    let [chosen, heavy] = compressed(model, said);
    let compressors = chosen * (compressor(near, 2 * d) + d + index) + heavy * (compressor(far, d) + d);
    let mixed = (2 + streams) * streams;
    let mixing = mixed * streams * h + mixed + 3;
    let last = streams * streams * h + streams + 1;
    model.num_hidden_layers * (queries + h * d + d + output + a + 2 * mixing) + compressors + last
}

/// One key of each token of the window, which is the value too; compressed keys; tokens that wait to be compressed, with their gates; and
/// what the next compressed key takes of the tokens before it (`DeepseekV4HCACache`, `DeepseekV4CSACache`).
fn keeps(model: &Counted, own: &Own, said: Said<'_>) -> Vec<CachePart> {
    let (d, index, window) = (model.head_dim, own[4], own[6]);
    let ([near, far], [chosen, heavy]) = (rates(said), compressed(model, said));
    let of = CachePart::of;
    let overlap = of(CachePartKind::Waiting, chosen, near * (d + index)).once();
    vec![
        of(CachePartKind::Keys, model.num_hidden_layers, d).within(window),
        of(CachePartKind::CompressedKeys, chosen, d).every(near),
        of(CachePartKind::IndexKeys, chosen, index).every(near),
        of(CachePartKind::Waiting, chosen, 4 * (d + index)).within(near.saturating_sub(1)),
        overlap,
        overlap.wide(),
        of(CachePartKind::CompressedKeys, heavy, d).every(far),
        of(CachePartKind::Waiting, heavy, 2 * d).within(far.saturating_sub(1)),
    ]
}

/// `deepseek_v4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek_v4", "deepseek_ref"],
    class: "DeepseekV4",
    labels: &[("deepseek_v4", "DeepSeek-V4"), ("deepseek_ref", "DeepSeek-V4")],
    modules: &Modules {
        model_type: "deepseek_v4",
        choice: FamilyChoice { rank: 617, word: "deepseek-v4", label: "DeepSeek-V4" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    layers_by_rate: &[(0, "sliding_attention"), (4, "compressed_sparse_attention"), (128, "heavily_compressed_attention")],
    own_sizes: &[
        ("q_lora_rank", 1024),
        ("o_groups", 8),
        ("o_lora_rank", 1024),
        ("index_n_heads", 64),
        ("index_head_dim", 128),
        ("hc_mult", 4),
        ("sliding_window", 128),
    ],
    not_looked_at: &[
        "layer_types",
        "mlp_layer_types",
        "compress_ratios",
        "num_hash_layers",
        "index_topk",
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "n_group",
        "topk_group",
        "attention_bias",
        "first_k_dense_replace",
    ],
    inner: InnerWidth::Stated(&["moe_intermediate_size"]),
    sizes: Sizes::of([4096, 2048], 43, 64, 129_280, 1_048_576).kv(1).head(512),
    rotary_percent: 12.5,
    experts: Some(Experts { width_is_inner: false, shared: 1, ..Experts::of(256, 6) }),
    ..FamilySpec::PLAIN
};
