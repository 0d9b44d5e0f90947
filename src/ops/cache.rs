//! Keys and values that serving keeps per token, and states that it keeps per sequence.

use std::ops::Range;

use super::builder::Lowering;
use super::formats;
use super::modules::{State, cached};
use super::record::split;
use super::tensor::{Dim, Kept, Op, Role, Shape, Tensor};
use crate::config::{CacheFormat, CachePart, Keys, LayerKind};
use crate::sources;
use crate::units::{Bytes, DType};

/// The cache of some layers, and how many layers hold each of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Cache {
    /// One operation with the tensors of one layer for each length that layers look back on.
    pub op: Op,
    /// Layers that hold the tensor at the same place of `op.tensors`.
    pub layers: Vec<u64>,
}

/// Returns the cache of these layers, counted from 0: tensors by part, and how many layers have
/// each.
///
/// Layers without keys of their own keep none; those of a decoder keep keys and values of its
/// encoder's source, too. A layer with a window keeps no more tokens than the window; latent
/// attention keeps one compressed entry per token, which every tensor rank holds. Tokens are kept
/// in whole blocks; whole blocks of a shared prefix are kept once.
pub fn cache(with: &Lowering, layers: Range<u64>) -> Cache {
    if !with.model.cache.is_empty() {
        return of_parts(with, &layers);
    }
    let mut counts: Vec<((u64, LayerKind), u64)> = Vec::with_capacity(2);
    let first = with.model.kind_of(0);
    for layer in layers.clone() {
        let kind = if with.model.is_uniform() { first } else { with.model.kind_of(layer) };
        if kind.source || !matches!(kind.keys, Keys::Own | Keys::Joint) {
            continue;
        }
        // Only the heads matter here.
        let kind = LayerKind {
            other_heads: kind.other_heads,
            indexed: kind.indexed,
            source: false,
            ..first
        };
        let tokens = with.model.visible(layer, with.context_length);
        match counts.iter_mut().find(|(of, _)| *of == (tokens, kind)) {
            Some((_, count)) => *count += 1,
            None => counts.push(((tokens, kind), 1)),
        }
    }
    let mut tensors = Vec::with_capacity(2 * counts.len());
    let decoder = layers.clone().filter(|layer| !with.model.is_of_source(*layer)).count();
    let states = with
        .model
        .mixer()
        .map(|mixer| (mixer, layers.filter(|layer| mixer.layers.contains(*layer)).count()));
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
    of_tensors(with, tensors, layers)
}

/// Returns the bytes that a token adds to a cache that lists its parts, over all ranks; an entry
/// that stands for several tokens counts by its share.
pub fn cache_of_token(with: &Lowering) -> Bytes {
    let bytes = |part: &CachePart| {
        let one = Lowering {
            context_length: part.every,
            concurrent_sequences: 1,
            block_size: 1,
            shared_prefix: 0,
            ..*with
        };
        let mut tensors = Vec::new();
        of_part(&one, part, &mut tensors);
        let entry: Bytes = tensors.iter().map(Tensor::bytes).sum();
        Bytes((entry * part.layers).0 / part.every.max(1))
    };
    with.model
        .cache
        .0
        .iter()
        .filter(|part| part.every > 0 && part.part.is_stored_as_cache())
        .map(bytes)
        .sum()
}

fn of_tensors(with: &Lowering, tensors: Vec<Tensor>, layers: Vec<u64>) -> Cache {
    let source = match with.kv_cache {
        CacheFormat::Int4 => sources::LMDEPLOY,
        CacheFormat::Q8_0 | CacheFormat::Q4_0 => sources::GGUF,
        _ => sources::VLLM,
    };
    let op = Op { name: "KV cache", tensors, source, ..Op::NONE };
    Cache { op, layers }
}

/// The cache of a model that lists its parts. They are shared out over stages evenly, rounded up:
/// it is not told which layer has which.
fn of_parts(with: &Lowering, layers: &Range<u64>) -> Cache {
    let (all, here) =
        (with.model.num_hidden_layers.max(1), layers.end.saturating_sub(layers.start));
    let (mut tensors, mut counts) = (Vec::new(), Vec::new());
    for part in with.model.cache.0.iter() {
        of_part(with, part, &mut tensors);
        counts.resize(tensors.len(), part.layers.saturating_mul(here).div_ceil(all));
    }
    of_tensors(with, tensors, counts)
}

/// Adds one part of a listed cache, with the scales that its format stores beside.
fn of_part(with: &Lowering, part: &CachePart, tensors: &mut Vec<Tensor>) {
    let heads =
        if part.heads > 0 { Dim("num_key_value_heads", part.heads) } else { Dim("all heads", 1) };
    let (name, width) = (part.part.name(), Dim("width", part.width));
    let stored = part.part.is_stored_as_cache() && !part.wide;
    let dtype = if stored { with.kv_cache.dtype() } else { with.activation };
    let dtype = if part.wide { DType::Fp32 } else { dtype };
    let are_tokens = part.every == 1 && part.part.is_stored_as_cache();
    let spread = if are_tokens {
        tokens_of(with, part.entries(with.context_length))
    } else {
        entries_of(with, part)
    };
    for [entries, sequences] in spread.into_iter().filter(|[entries, _]| entries.1 > 0) {
        tensors.extend(kept(with, name, Shape::of([entries, sequences, heads, width]), dtype));
        if let Some((name, values)) =
            formats::beside_cache(with.kv_cache, part.width).filter(|_| stored)
        {
            let shape = Shape::of([entries, sequences, heads, Dim("of each head", values)]);
            tensors.extend(kept(with, name, shape, DType::Fp16));
        }
    }
}

/// Entries of a part that are no tokens: each sequence has its own, but for those of a shared
/// prefix that are never let go.
fn entries_of(with: &Lowering, part: &CachePart) -> [[Dim; 2]; 2] {
    let all = part.entries(with.context_length);
    let is_kept = part.every > 0 && part.most == 0;
    let shared = if is_kept {
        part.entries(with.shared_prefix.min(with.context_length.saturating_sub(1)))
    } else {
        0
    };
    [
        [
            Dim("entries", all.saturating_sub(shared)),
            Dim("concurrent_sequences", with.concurrent_sequences),
        ],
        [Dim("shared entries", shared), Dim("for all sequences", with.concurrent_sequences.min(1))],
    ]
}

/// Adds the cache of one layer that looks back on so many tokens, with the scales that its format
/// stores beside.
fn of_one_layer(with: &Lowering, (tokens, kind): (u64, LayerKind), tensors: &mut Vec<Tensor>) {
    for [tokens, sequences] in
        tokens_of(with, tokens).into_iter().filter(|[tokens, _]| tokens.1 > 0)
    {
        for (name, [heads, width]) in cached(with, kind) {
            let mut keep = |name, width, dtype| {
                tensors.extend(kept(
                    with,
                    name,
                    Shape::of([tokens, sequences, heads, width]),
                    dtype,
                ));
            };
            keep(name, width, with.kv_cache.dtype());
            if let Some((name, values)) = formats::beside_cache(with.kv_cache, width.1) {
                keep(name, Dim("of each head", values), DType::Fp16);
            }
        }
    }
}

/// The tokens that each sequence keeps of a layer that looks back on so many, and those that all
/// sequences share, in whole blocks.
fn tokens_of(with: &Lowering, tokens: u64) -> [[Dim; 2]; 2] {
    let block = with.block_size.max(1);
    // A sequence's last token is its own; tokens that fell out of a window are shared no more.
    let alike = with.shared_prefix.min(with.context_length.saturating_sub(1));
    let shared = alike.saturating_sub(with.context_length.saturating_sub(tokens));
    let shared = shared / block * block;
    let own = tokens.saturating_sub(shared).div_ceil(block).saturating_mul(block);
    let name = if tokens < with.context_length { "sliding_window" } else { "context_length" };
    [
        [Dim(name, own), Dim("concurrent_sequences", with.concurrent_sequences)],
        [Dim("shared_prefix", shared), Dim("for all sequences", with.concurrent_sequences.min(1))],
    ]
}

/// Adds what cross-attention of one layer keeps: keys and values of the whole source, which no step
/// adds to.
fn of_source(with: &Lowering, first: LayerKind, tensors: &mut Vec<Tensor>) {
    let kind = LayerKind { source: false, ..first };
    let tokens = with.source_length.next_multiple_of(with.block_size.max(1));
    let sequences = Dim("concurrent_sequences", with.concurrent_sequences);
    for ((_, [heads, width]), name) in
        cached(with, kind).into_iter().zip(["keys of the source", "values of the source"])
    {
        let mut keep = |name, width, dtype| {
            tensors.extend(kept(
                with,
                name,
                Shape::of([Dim("source_length", tokens), sequences, heads, width]),
                dtype,
            ));
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
    Some(Tensor { name, role, shape, dtype, split, kept: Kept::Always })
        .filter(|_| shape.elements().0 > 0)
}
