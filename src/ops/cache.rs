//! Keys and values that serving keeps per token, and states that it keeps per sequence.

use std::ops::Range;

use super::builder::Lowering;
use super::formats;
use super::modules::{State, cached};
use super::record::split;
use super::tensor::{Dim, Kept, Op, Role, Shape, Tensor};
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
/// Layers without keys of their own keep none; those of a decoder keep keys and values of its encoder's source, too. A layer with a window keeps no more tokens than the window; latent attention keeps one compressed vector and one rotated key part
/// per token, which every tensor rank holds. Tokens are kept in whole blocks; whole blocks of a shared prefix are kept once.
pub fn cache(with: &Lowering, layers: Range<u64>) -> Cache {
    let mut counts: Vec<((u64, LayerKind), u64)> = Vec::with_capacity(2);
    let first = with.model.kind_of(0);
    for layer in layers.clone() {
        let kind = if with.model.is_uniform() { first } else { with.model.kind_of(layer) };
        if kind.source || !matches!(kind.keys, Keys::Own | Keys::Joint) {
            continue;
        }
        // Only the heads matter here.
        let kind = LayerKind { other_heads: kind.other_heads, indexed: kind.indexed, source: false, ..first };
        let tokens = with.model.visible(layer, with.context_length);
        match counts.iter_mut().find(|(of, _)| *of == (tokens, kind)) {
            Some((_, count)) => *count += 1,
            None => counts.push(((tokens, kind), 1)),
        }
    }
    let mut tensors = Vec::with_capacity(2 * counts.len());
    let decoder = layers.clone().filter(|layer| !with.model.is_of_source(*layer)).count();
    let states = with.model.mixer().map(|mixer| (mixer, layers.filter(|layer| mixer.layers.contains(*layer)).count()));
    let mut layers = Vec::with_capacity(2 * counts.len());
    for ((tokens, kind), count) in counts {
        let model = with.model.of_layers(kind);
        of_one_layer(&Lowering { model: &model, ..*with }, (tokens, kind), &mut tensors);
        layers.resize(tensors.len(), count);
    }
    if with.model.beside().is_some() {
        of_source(with, first, &mut tensors);
        layers.resize(tensors.len(), u64::try_from(decoder).unwrap_or(u64::MAX));
    }
    if let Some((mixer, count)) = states {
        State::cached(with, mixer, |name, shape, dtype| {
            tensors.extend(kept(with, name, shape, dtype));
            layers.resize(tensors.len(), u64::try_from(count).unwrap_or(u64::MAX));
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

/// Adds the cache of one layer that looks back on so many tokens, with the scales that its format stores beside.
fn of_one_layer(with: &Lowering, (tokens, kind): (u64, LayerKind), tensors: &mut Vec<Tensor>) {
    let block = with.block_size.max(1);
    // A sequence's last token is its own; tokens that fell out of a window are shared no more.
    let alike = with.shared_prefix.min(with.context_length.saturating_sub(1));
    let shared = alike.saturating_sub(with.context_length.saturating_sub(tokens));
    let shared = shared / block * block;
    let own = tokens.saturating_sub(shared).div_ceil(block).saturating_mul(block);
    let name = if tokens < with.context_length { "sliding_window" } else { "context_length" };
    let held = [
        [Dim(name, own), Dim("concurrent_sequences", with.concurrent_sequences)],
        [Dim("shared_prefix", shared), Dim("for all sequences", with.concurrent_sequences.min(1))],
    ];
    for [tokens, sequences] in held.into_iter().filter(|[tokens, _]| tokens.1 > 0) {
        for (name, [heads, width]) in cached(with, kind) {
            let mut keep =
                |name, width, dtype| tensors.extend(kept(with, name, Shape::of([tokens, sequences, heads, width]), dtype));
            keep(name, width, with.kv_cache.dtype());
            if let Some((name, values)) = formats::beside_cache(with.kv_cache, width.1) {
                keep(name, Dim("of each head", values), DType::Fp16);
            }
        }
    }
}

/// Adds what cross-attention of one layer keeps: keys and values of the whole source, which no step adds to.
fn of_source(with: &Lowering, first: LayerKind, tensors: &mut Vec<Tensor>) {
    let kind = LayerKind { source: false, ..first };
    let tokens = with.source_length.next_multiple_of(with.block_size.max(1));
    let sequences = Dim("concurrent_sequences", with.concurrent_sequences);
    for ((_, [heads, width]), name) in cached(with, kind).into_iter().zip(["keys of the source", "values of the source"]) {
        let mut keep = |name, width, dtype| {
            tensors.extend(kept(with, name, Shape::of([Dim("source_length", tokens), sequences, heads, width]), dtype));
        };
        keep(name, width, with.kv_cache.dtype());
        if let Some((name, values)) = formats::beside_cache(with.kv_cache, width.1) {
            keep(name, Dim("of each head", values), DType::Fp16);
        }
    }
}

/// A tensor of a cache.
fn kept(with: &Lowering, name: &'static str, shape: Shape, dtype: DType) -> Option<Tensor> {
    let role = Role::KvCache;
    let split = split(&shape, role, with);
    Some(Tensor { name, role, shape, dtype, split, kept: Kept::Always }).filter(|_| shape.elements().0 > 0)
}
