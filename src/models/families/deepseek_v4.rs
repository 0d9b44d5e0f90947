//! `deepseek_v4` (transformers 5.23, `models/deepseek_v4`): several residual streams; one key that
//! is the value too, of which most layers keep a compressed copy beside a window, and some choose
//! by an indexer; a grouped output projection.

use crate::config::Compresses;
use crate::models::prelude::*;

/// One key of each token of the window, which is the value too; compressed keys; tokens that wait
/// to be compressed, with their gates; and what the next compressed key takes of the tokens before
/// it (`DeepseekV4HCACache`, `DeepseekV4CSACache`).
fn keeps(model: &Counted, _: &Own, _: Said<'_>) -> Vec<CachePart> {
    let Some(compressed) = &model.compressed else { return Vec::new() };
    let (d, index, [near, far]) = (model.head_dim, compressed.index_head_dim, compressed.rates);
    let [chosen, heavy] =
        [Compresses::AndChooses, Compresses::Heavily].map(|way| compressed.count(way));
    let of = CachePart::of;
    let overlap = of(CachePartKind::Waiting, chosen, near * (d + index)).once();
    let parts = vec![
        of(CachePartKind::Keys, model.num_hidden_layers, d)
            .within(model.sliding_window.unwrap_or(0)),
        of(CachePartKind::CompressedKeys, chosen, d).every(near),
        of(CachePartKind::IndexKeys, chosen, index).every(near),
        of(CachePartKind::Waiting, chosen, 4 * (d + index)).within(near.saturating_sub(1)),
        overlap,
        overlap.wide(),
        of(CachePartKind::CompressedKeys, heavy, d).every(far),
        of(CachePartKind::Waiting, heavy, 2 * d).within(far.saturating_sub(1)),
    ];
    parts.into_iter().filter(|part| part.layers > 0 && part.width > 0).collect()
}

/// `deepseek_v4`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek_v4", "deepseek_ref"],
    class: "DeepseekV4",
    labels: &[("deepseek_v4", "DeepSeek-V4"), ("deepseek_ref", "DeepSeek-V4")],
    modules: &Modules {
        model_type: "deepseek_v4",
        choice: FamilyChoice { rank: 617, word: "deepseek-v4", label: "DeepSeek-V4" },
        block: BlockLayout::CompressedInStreams,
        norm: NormStyle::ScaledInFp32,
        rotary_tables: RotaryTables::Halves,
        tables_for_each_kind: true,
        mask_for_each_kind: false,
        encoder: EncoderModules {
            buffers: PositionBuffers::None,
            embeds_in_module: false,
            ..EncoderModules::PLAIN
        },
        experts: ExpertModules { router_first: true, limits_gates: true, ..ExpertModules::PLAIN },
        takes_prefix: false,
        tensor_plan: None,
        shape: None,
        ..Modules::PLAIN
    },
    encoder: Some(Encoder::DECODER),
    keeps: Some(keeps),
    compresses: true,
    sinks: true,
    window: Window::All(128),
    layers_by_rate: &[
        (0, "sliding_attention"),
        (4, "compressed_sparse_attention"),
        (128, "heavily_compressed_attention"),
    ],
    own_sizes: &[
        ("q_lora_rank", 1024),
        ("o_groups", 8),
        ("o_lora_rank", 1024),
        ("index_n_heads", 64),
        ("index_head_dim", 128),
        ("index_topk", 512),
        ("hc_mult", 4),
        ("hc_sinkhorn_iters", 20),
    ],
    own_groups: &[(
        "compress_rates",
        &[("compressed_sparse_attention", 4), ("heavily_compressed_attention", 128)],
    )],
    not_looked_at: &[
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
