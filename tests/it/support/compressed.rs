//! Parameters of attention to compressed keys and of residual streams, computed from the sizes
//! alone.

use headroom::config::{Compressed, Compresses, ModelConfig};

/// Parameters of attention in all layers with compressors and indexers, and of the mixing of
/// streams, before each half of a block and after the last block.
pub(super) fn parameters(config: &ModelConfig, sizes: &Compressed) -> u64 {
    let (h, a, d) = (config.hidden_size, config.num_attention_heads, config.head_dim);
    let (rank, narrow, n) = (sizes.q_lora_rank, sizes.o_lora_rank, sizes.hc_mult);
    let queries = h * rank + rank + rank * a * d;
    let output = a * d * narrow + sizes.o_groups * narrow * h;
    let compressor = |rate: u64, width: u64| 2 * h * width + rate * width;
    let [near, far] = sizes.rates;
    let (heads, width) = (sizes.index_n_heads, sizes.index_head_dim);
    let index = compressor(near, 2 * width) + width + rank * heads * width + h * heads;
    let of_chosen = sizes.count(Compresses::AndChooses) * (compressor(near, 2 * d) + d + index);
    let of_heavy = sizes.count(Compresses::Heavily) * (compressor(far, d) + d);
    let weights = (2 + n) * n;
    let mixing = weights * n * h + weights + 3;
    let last = n * n * h + n + 1;
    config.num_hidden_layers * (queries + h * d + d + output + a + 2 * mixing)
        + of_chosen
        + of_heavy
        + last
}
