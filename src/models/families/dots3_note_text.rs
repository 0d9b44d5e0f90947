//! `dots3_note_text` (transformers 5.23, `models/dots3_note`): latent attention with a gate for
//! each head and a norm of rotated keys, of other sizes in layers that slide; the others have an
//! indexer. Its parameters are counted alone.

use crate::config::Mla;
use crate::models::prelude::*;

/// Latent attention of layers that slide, unless a file says otherwise.
const SLIDING: Mla = Mla {
    q_lora_rank: Some(1024),
    kv_lora_rank: 1024,
    qk_rope_head_dim: 64,
    qk_nope_head_dim: 192,
    v_head_dim: 128,
};
/// Files of older versions state these sizes under keys that begin so.
const OTHERWISE: &str = "layers that slide of another shape";

/// Layers that slide. Where nothing is listed, all but the first two and every fourth behind them.
fn sliding(model: &Counted, said: Said<'_>) -> u64 {
    let slides = |layer: &u64| *layer >= 2 && layer % 4 != 1;
    said("layer_types", "sliding_attention")
        .unwrap_or_else(|| (0..model.num_hidden_layers).filter(slides).map(|_| 1).sum::<u64>())
}

/// Latent attention of a layer, with its gate and the norm of rotated keys.
fn attention(model: &Counted, heads: u64, mla: Mla) -> u64 {
    let of_layer = Counted { num_attention_heads: heads, mla: Some(mla), ..model.clone() };
    latent_attention(&of_layer) + mla.qk_rope_head_dim + model.hidden_size * heads
}

/// How many layers have the other shape, their heads, and their latent attention.
fn other(model: &Counted, own: &Own, said: Said<'_>) -> Option<(u64, u64, Mla)> {
    let [_, _, _, count, heads, rank, query_rank, nope, rope, value, ..] = *own;
    let mla = model.mla?;
    let other = or(count, sliding(model, said)).min(model.num_hidden_layers);
    // A file without the group takes the library's sizes for them; of one with it, all that the
    // group does not say is as elsewhere.
    let (heads, of_other) = if count == UNSTATED {
        (64, SLIDING)
    } else {
        let of_other = Mla {
            q_lora_rank: if query_rank == UNSTATED { mla.q_lora_rank } else { Some(query_rank) },
            kv_lora_rank: or(rank, mla.kv_lora_rank),
            qk_rope_head_dim: or(rope, mla.qk_rope_head_dim),
            qk_nope_head_dim: or(nope, mla.qk_nope_head_dim),
            v_head_dim: or(value, mla.v_head_dim),
        };
        (or(heads, model.num_attention_heads), of_other)
    };
    Some((other, heads, of_other))
}

/// Attention of layers of either shape, and indexers.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let Some((mla, (other, heads, of_other))) = model.mla.zip(other(model, own, said)) else {
        return 0;
    };
    let [index_heads, index_width, ..] = *own;
    let slide = sliding(model, said);
    let indexed =
        said("layer_types", "indexed_attention").unwrap_or(model.num_hidden_layers - slide);
    let whole =
        (model.num_hidden_layers - other) * attention(model, model.num_attention_heads, mla);
    whole
        + other * attention(model, heads, of_other)
        + indexed * indexer(model, [index_heads, index_width])
}

/// Latent vectors and rotated keys of layers of either shape, and the keys of indexers, which are
/// made of fp32 positions.
fn keeps(model: &Counted, own: &Own, said: Said<'_>) -> Vec<CachePart> {
    let Some((other, _, of_other)) = other(model, own, said) else { return Vec::new() };
    let (layers, slide, window) = (model.num_hidden_layers, sliding(model, said), own[2]);
    let indexed = said("layer_types", "indexed_attention").unwrap_or(layers - slide);
    let whole = latents(model, layers - other, layers - other);
    let sliding = latents(&Counted { mla: Some(of_other), ..model.clone() }, other, other);
    let parts = whole.into_iter().chain(sliding.map(|part| part.within(window)));
    parts.chain([index_keys(indexed, own[1]).wide()]).collect()
}

/// `dots3_note_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["dots3_note_text"],
    class: "Dots3Note",
    labels: &[("dots3_note", "dots3.note")],
    modules: &Modules {
        model_type: "dots3_note_text",
        choice: FamilyChoice { rank: 644, word: "dots3-note", label: "dots3.note" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    own_sizes: &[("index_n_heads", 64), ("index_head_dim", 128), ("sliding_window", 512)],
    own_groups: &[(
        "per_layer_config",
        &[
            ("", UNSTATED),
            ("num_attention_heads", UNSTATED),
            ("kv_lora_rank", UNSTATED),
            ("q_lora_rank", UNSTATED),
            ("qk_nope_head_dim", UNSTATED),
            ("qk_rope_head_dim", UNSTATED),
            ("v_head_dim", UNSTATED),
        ],
    )],
    only: &[
        Only::else_refused("swa_num_attention_heads", &["64"], OTHERWISE),
        Only::else_refused("swa_q_lora_rank", &["1024"], OTHERWISE),
        Only::else_refused("swa_kv_lora_rank", &["1024"], OTHERWISE),
        Only::else_refused("swa_head_dim", &["256"], OTHERWISE),
        Only::else_refused("swa_qk_nope_head_dim", &["192"], OTHERWISE),
        Only::else_refused("swa_v_head_dim", &["128"], OTHERWISE),
        Only::else_refused("use_sliding_window", &["true"], "no layer that slides"),
        Only::else_refused("use_dsa", &["true"], "no indexers"),
    ],
    not_looked_at: &["layer_types", "index_topk", "head_dim", "mlp_bias"],
    sizes: Sizes::of([5120, 13_824], 46, 128, 152_064, 524_288),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 1536,
        shared: 1,
        one_shared: Some(("shared_experts_intermediate_size", 1536)),
        first_dense: 1,
        chosen_by: FROM_FIRST,
        ..Experts::of(256, 8)
    }),
    latent: Some(Latent { query_rank: 1024, rank: 512, rope: 64, nope: 128, value: 128 }),
    ..FamilySpec::PLAIN
};
