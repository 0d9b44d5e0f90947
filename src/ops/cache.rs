//! Keys and values that serving keeps per token.

use std::ops::Range;

use super::builder::Lowering;
use super::tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};
use crate::sources;
use crate::units::Flops;

/// The cache of some layers, and how many layers hold each of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// One operation with the tensors of one layer for each length that layers look back on.
    pub op: Op,
    /// Layers that hold the tensor at the same place of `op.tensors`.
    pub layers: Vec<u64>,
}

/// The cache of these layers, counted from 0.
///
/// A layer with a window keeps no more tokens than the window; latent attention keeps one compressed vector and one rotated key part
/// per token, which every tensor rank holds.
pub fn cache(with: &Lowering, layers: Range<u64>) -> Cache {
    let mut counts: Vec<(u64, u64)> = Vec::with_capacity(2);
    for tokens in layers.map(|layer| with.model.visible(layer, with.context_length)) {
        match counts.iter_mut().find(|(length, _)| *length == tokens) {
            Some((_, count)) => *count += 1,
            None => counts.push((tokens, 1)),
        }
    }
    let mut tensors = Vec::with_capacity(2 * counts.len());
    let mut layers = Vec::with_capacity(2 * counts.len());
    for (tokens, count) in counts {
        for tensor in of_one_layer(with, tokens) {
            tensors.push(tensor);
            layers.push(count);
        }
    }
    let op = Op { name: "KV cache", tensors, forward: Flops(0.0), attention_core: false, source: sources::VLLM };
    Cache { op, layers }
}

/// Keys and values of one layer that looks back on that many tokens: `2 · k · d` elements a token.
fn of_one_layer(with: &Lowering, tokens: u64) -> [Tensor; 2] {
    let name = if tokens < with.context_length { "sliding_window" } else { "context_length" };
    let held = [Dim(name, tokens), Dim("concurrent_sequences", with.concurrent_sequences)];
    let tensor = |name, [heads, width]: [Dim; 2], split| Tensor {
        name,
        role: Role::KvCache,
        shape: Shape::of([held[0], held[1], heads, width]),
        dtype: with.kv_cache,
        split,
        kept: Kept::Always,
    };
    if let Some(mla) = &with.model.mla {
        let one = Dim("all heads", 1);
        return [
            tensor("cached latent vectors", [one, Dim("kv_lora_rank", mla.kv_lora_rank)], Split::Replicated),
            tensor("cached rotated keys", [one, Dim("qk_rope_head_dim", mla.qk_rope_head_dim)], Split::Replicated),
        ];
    }
    let heads = [with.kv_heads(), with.head_dim()];
    ["cached keys", "cached values"].map(|name| tensor(name, heads, Split::Heads(with.kv_heads().1)))
}
