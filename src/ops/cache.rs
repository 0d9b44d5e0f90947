//! Keys and values that serving keeps per token, and states that it keeps per sequence.

use std::ops::Range;

use super::builder::Lowering;
use super::formats;
use super::mixer;
use super::tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};
use crate::config::{CacheFormat, Keys, LayerKind};
use crate::sources;
use crate::units::DType;

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
/// Layers without keys of their own keep none. A layer with a window keeps no more tokens than the window; latent attention keeps one compressed vector and one rotated key part
/// per token, which every tensor rank holds. Tokens are kept in whole blocks; whole blocks of a shared prefix are kept once.
pub fn cache(with: &Lowering, layers: Range<u64>) -> Cache {
    let mut counts: Vec<((u64, LayerKind), u64)> = Vec::with_capacity(2);
    let first = with.model.kind_of(0);
    for layer in layers.clone() {
        let kind = if with.model.is_uniform() { first } else { with.model.kind_of(layer) };
        if !matches!(kind.keys, Keys::Own | Keys::Joint) {
            continue;
        }
        // Only the heads matter here.
        let kind = LayerKind { other_heads: kind.other_heads, ..first };
        let tokens = with.model.visible(layer, with.context_length);
        match counts.iter_mut().find(|(of, _)| *of == (tokens, kind)) {
            Some((_, count)) => *count += 1,
            None => counts.push(((tokens, kind), 1)),
        }
    }
    let mut tensors = Vec::with_capacity(2 * counts.len());
    let states = with.model.mixer().map(|mixer| (mixer, layers.filter(|layer| mixer.layers.contains(*layer)).count()));
    let mut layers = Vec::with_capacity(2 * counts.len());
    for ((tokens, kind), count) in counts {
        let model = with.model.of_layers(kind);
        of_one_layer(&Lowering { model: &model, ..*with }, tokens, |tensor| {
            tensors.push(tensor);
            layers.push(count);
        });
    }
    if let Some((mixer, count)) = states {
        mixer::kept(with, mixer, |tensor| {
            tensors.push(tensor);
            layers.push(u64::try_from(count).unwrap_or(u64::MAX));
        });
    }
    let source = match with.kv_cache {
        CacheFormat::Int4 => sources::LMDEPLOY,
        CacheFormat::Q8_0 | CacheFormat::Q4_0 => sources::GGUF,
        _ => sources::VLLM,
    };
    let op = Op { name: "KV cache", tensors, source, ..Op::NONE };
    Cache { op, layers }
}

/// Keys and values of one layer that looks back on that many tokens: `2 · k · d` elements a token, and what their format stores beside.
fn of_one_layer(with: &Lowering, tokens: u64, mut push: impl FnMut(Tensor)) {
    let block = with.block_size.max(1);
    // A sequence's last token is its own; tokens that fell out of a window are shared no more.
    let alike = with.shared_prefix.min(with.context_length.saturating_sub(1));
    let shared = alike.saturating_sub(with.context_length.saturating_sub(tokens));
    let shared = shared / block * block;
    let own = tokens.saturating_sub(shared).div_ceil(block).saturating_mul(block);
    let name = if tokens < with.context_length { "sliding_window" } else { "context_length" };
    if own > 0 {
        kept(with, [Dim(name, own), Dim("concurrent_sequences", with.concurrent_sequences)], &mut push);
    }
    if shared > 0 && with.concurrent_sequences > 0 {
        kept(with, [Dim("shared_prefix", shared), Dim("for all sequences", 1)], &mut push);
    }
}

/// Keys and values of so many tokens.
fn kept(with: &Lowering, held: [Dim; 2], push: &mut impl FnMut(Tensor)) {
    let mut tensor = |name, [heads, width]: [Dim; 2], split| {
        let of = |name, width, dtype| Tensor {
            name,
            role: Role::KvCache,
            shape: Shape::of([held[0], held[1], heads, width]),
            dtype,
            split,
            kept: Kept::Always,
        };
        push(of(name, width, with.kv_cache.dtype()));
        if let Some((name, values)) = formats::beside_cache(with.kv_cache, width.1) {
            push(of(name, Dim("of each head", values), DType::Fp16));
        }
    };
    if let Some(mla) = &with.model.mla {
        let one = Dim("all heads", 1);
        tensor("cached latent vectors", [one, Dim("kv_lora_rank", mla.kv_lora_rank)], Split::Replicated);
        tensor("cached rotated keys", [one, Dim("qk_rope_head_dim", mla.qk_rope_head_dim)], Split::Replicated);
        return;
    }
    for (name, width) in [("cached keys", with.head_dim()), ("cached values", with.value_dim())] {
        tensor(name, [with.kv_heads(), width], Split::Heads(with.kv_heads().1));
    }
}
