//! Parameters of parts that several kinds have, for kinds of which these are counted alone.

use super::keys::COUNTED_SIZES;
use crate::config::{CachePart, CachePartKind, ModelConfig};

/// Sizes of a family's own.
pub(super) type Own = [u64; COUNTED_SIZES];
/// A size that no file states and that follows from others.
pub(super) const UNSTATED: u64 = u64::MAX;

/// A size that a file states, or else the other.
pub(super) fn or(stated: u64, otherwise: u64) -> u64 {
    if stated == UNSTATED { otherwise } else { stated }
}

/// How often the list under a key says a word, or what a group of keys says under it.
pub(super) type Said<'a> = &'a dyn Fn(&str, &str) -> Option<u64>;
/// The architecture that is counted.
pub(super) type Counted = ModelConfig;

/// Layers with experts.
pub(super) fn sparse_layers(model: &Counted) -> u64 {
    (0..model.num_hidden_layers).map(|layer| u64::from(model.moe_at(layer).is_some())).sum()
}

/// Latent attention of one layer: narrow and wide projections, a norm of either narrow one, and the
/// output projection.
pub(super) fn latent_attention(model: &Counted) -> u64 {
    let Some(mla) = model.mla else { return 0 };
    let (h, a) = (model.hidden_size, model.num_attention_heads);
    let queries = match mla.q_lora_rank {
        Some(rank) => {
            h * rank + rank + rank * a * mla.qk_head_dim() + u64::from(model.attention_bias) * rank
        }
        None => h * a * mla.qk_head_dim(),
    };
    let narrow = mla.kv_lora_rank + mla.qk_rope_head_dim;
    let keys = h * narrow + u64::from(model.attention_bias) * narrow + mla.kv_lora_rank;
    let wide = mla.kv_lora_rank * a * (mla.qk_nope_head_dim + mla.v_head_dim);
    queries + keys + wide + a * mla.v_head_dim * h + u64::from(model.attention_bias) * h
}

/// Attention of one layer by heads: four matrices, and their biases.
pub(super) fn attention(model: &Counted) -> u64 {
    let (h, d) = (model.hidden_size, model.head_dim);
    let (queries, keys) = (model.num_attention_heads * d, model.num_key_value_heads * d);
    let norms = u64::from(model.qk_norm) * 2 * d;
    let biases = u64::from(model.attention_bias) * (queries + 2 * keys)
        + u64::from(model.attention_output_bias) * h;
    2 * h * queries + 2 * h * keys + norms + biases
}

/// An indexer of tokens: queries from the narrow ones, one key with a layer norm, and a weight for
/// each head.
pub(super) fn indexer(model: &Counted, [heads, width]: [u64; 2]) -> u64 {
    let rank = model.mla.and_then(|mla| mla.q_lora_rank).unwrap_or(model.hidden_size);
    rank * heads * width + model.hidden_size * width + 2 * width + model.hidden_size * heads
}

/// Attention to the text, and to an encoder's output.
pub(super) fn attention_twice(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    2 * model.num_hidden_layers * attention(model)
}

/// Keys and values of all layers, by heads; of those of layers that slide no more than a window.
pub(super) fn keeps_heads(model: &Counted, _: &Own, _: Said<'_>) -> Vec<CachePart> {
    let slides =
        |layer: &u64| model.sliding_window.is_some() && model.sliding_layers.contains(*layer);
    let sliding = (0..model.num_hidden_layers).filter(slides).map(|_| 1).sum::<u64>();
    let shape = [model.num_key_value_heads, model.head_dim];
    let whole = keys_and_values(model.num_hidden_layers - sliding, shape);
    let window = model.sliding_window.unwrap_or(0);
    whole
        .into_iter()
        .chain(keys_and_values(sliding, shape).map(|part| part.within(window)))
        .collect()
}

/// Keys and values of so many layers, of heads of that width.
pub(super) fn keys_and_values(layers: u64, [heads, width]: [u64; 2]) -> [CachePart; 2] {
    [CachePartKind::Keys, CachePartKind::Values]
        .map(|part| CachePart::of(part, layers, width).heads(heads))
}

/// Latent vectors and rotated keys of so many layers each.
pub(super) fn latents(model: &Counted, layers: u64, rotating: u64) -> [CachePart; 2] {
    let (rank, rotated) = model.mla.map_or((0, 0), |mla| (mla.kv_lora_rank, mla.qk_rope_head_dim));
    [
        CachePart::of(CachePartKind::Latents, layers, rank),
        CachePart::of(CachePartKind::RotatedKeys, rotating, rotated),
    ]
}

/// Keys of indexers in so many layers.
pub(super) const fn index_keys(layers: u64, width: u64) -> CachePart {
    CachePart::of(CachePartKind::IndexKeys, layers, width)
}
