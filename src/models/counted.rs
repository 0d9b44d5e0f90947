//! Parameters of parts that several kinds have, for kinds of which these are counted alone.

use super::keys::COUNTED_SIZES;
use crate::config::ModelConfig;

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

/// Latent attention of one layer: narrow and wide projections, a norm of either narrow one, and the output projection.
pub(super) fn latent_attention(model: &Counted) -> u64 {
    let Some(mla) = model.mla else { return 0 };
    let (h, a) = (model.hidden_size, model.num_attention_heads);
    let queries = match mla.q_lora_rank {
        Some(rank) => h * rank + rank + rank * a * mla.qk_head_dim() + u64::from(model.attention_bias) * rank,
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
    let biases = u64::from(model.attention_bias) * (queries + 2 * keys) + u64::from(model.attention_output_bias) * h;
    2 * h * queries + 2 * h * keys + norms + biases
}

/// An indexer of tokens: queries from the narrow ones, one key with a layer norm, and a weight for each head.
pub(super) fn indexer(model: &Counted, [heads, width]: [u64; 2]) -> u64 {
    let rank = model.mla.and_then(|mla| mla.q_lora_rank).unwrap_or(model.hidden_size);
    rank * heads * width + model.hidden_size * width + 2 * width + model.hidden_size * heads
}

/// Attention to the text, and to what an encoder made.
pub(super) fn attention_twice(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    2 * model.num_hidden_layers * attention(model)
}
