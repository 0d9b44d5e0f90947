//! A transformer and a run as operations with their parameters, saved tensors, workspace and FLOPs.
//!
//! Modules run on a tape. Memory of a training step is played there moment by moment; its parameters and FLOPs are read off a run of
//! the same modules. What serving works with, and what the papers' stack saves, is read off a forward of its own ([`forward`]). Shapes
//! carry their names, so an explanation never repeats a formula.
//!
//! | symbol | field |
//! |---|---|
//! | s | `seq_length` |
//! | b | `micro_batch_size` |
//! | h | `hidden_size` |
//! | a, k | `num_attention_heads`, `num_key_value_heads` |
//! | d | `head_dim` |
//! | f | `intermediate_size` |
//! | v | `vocab_size` |
//! | L | `num_hidden_layers` |

mod builder;
mod cache;
mod division;
pub mod formats;
mod forward;
pub mod megatron;
mod mixer;
pub(crate) mod modules;
mod played;
mod record;
pub(crate) mod tape;
mod tensor;
pub mod work;

pub use builder::Lowering;
pub use cache::{Cache, cache};
pub(crate) use played::{Played, played};
pub(crate) use record::trainable;
pub use tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};

use crate::config::{CacheFormat, Job, LayerKind, ModelConfig, Recompute, Run, Stack, TrainingPrecision, Tuning};
use crate::units::{Flops, sort_short};

/// The whole model as operations: once for the embedding, once for each kind of block, once for the head.
#[derive(Clone, Debug, PartialEq)]
pub struct OpList {
    /// Token and position embedding.
    pub embedding: Vec<Op>,
    /// The kinds of blocks, the one with most layers first; never empty.
    pub kinds: Vec<BlockKind>,
    /// Final norm, output head, loss.
    pub head: Vec<Op>,
}

/// The blocks that have the same operations.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockKind {
    /// What they are made of.
    pub of: LayerKind,
    /// How many there are.
    pub layers: u64,
    /// The operations of one: attention and state first, then feed-forward or experts.
    pub ops: Vec<Op>,
    /// How many operations come before the first residual sum.
    pub first_half: usize,
}

impl BlockKind {
    /// The operations before the first residual sum, and those behind it.
    pub fn halves(&self) -> [&[Op]; 2] {
        let (first, second) = self.ops.split_at(self.first_half.min(self.ops.len()));
        [first, second]
    }
}

impl OpList {
    /// Parameters of the whole model; a tied head adds none.
    pub fn parameters(&self) -> u64 {
        let blocks = self.kinds.iter().map(|kind| parameters(&kind.ops).saturating_mul(kind.layers));
        blocks.fold(parameters(&self.embedding), u64::saturating_add).saturating_add(parameters(&self.head))
    }

    /// A block of the usual kind.
    pub fn usual(&self) -> &[Op] {
        self.kinds.first().map_or(&[], |kind| &kind.ops)
    }

    /// All operations, of each kind of block those of one.
    pub fn all(&self) -> impl Iterator<Item = &Op> {
        self.embedding.iter().chain(self.kinds.iter().flat_map(|kind| &kind.ops)).chain(&self.head)
    }

    /// A sum over all blocks of a figure of one.
    pub fn over_blocks(&self, of: impl Fn(&[Op]) -> Flops) -> Flops {
        self.kinds.iter().map(|kind| of(&kind.ops) * crate::units::to_f64(kind.layers)).sum()
    }

    /// FLOPs of one forward pass of one micro-batch, all ranks of the model together.
    pub fn forward(&self) -> Flops {
        forward(&self.embedding) + self.over_blocks(forward) + forward(&self.head)
    }

    /// FLOPs of its backward, without what is recomputed: every product again for each operand that wants a gradient.
    pub fn backward(&self) -> Flops {
        let backward = |ops: &[Op]| ops.iter().map(|op| op.backward).sum();
        backward(&self.embedding) + self.over_blocks(backward) + backward(&self.head)
    }
}

/// Parameters of a list of operations.
pub fn parameters(ops: &[Op]) -> u64 {
    tensors(ops, Role::Parameter).map(|(_, tensor)| tensor.shape.elements().0).fold(0, u64::saturating_add)
}

/// FLOPs of one forward pass of a list of operations.
pub fn forward(ops: &[Op]) -> Flops {
    ops.iter().map(|op| op.forward).sum()
}

/// All tensors of one role, with their operation.
pub fn tensors(ops: &[Op], role: Role) -> impl Iterator<Item = (&Op, &Tensor)> {
    ops.iter().flat_map(move |op| op.tensors.iter().filter(move |tensor| tensor.role == role).map(move |tensor| (op, tensor)))
}

/// A job's operations, for one micro-batch (training) or one prefill chunk (serving).
///
/// Parameters and FLOPs are read off a run of the model's modules. Working sets and saved tensors are added for serving and for the
/// papers' stack; a training step is played elsewhere, moment by moment.
///
/// ```
/// # use headroom::catalog;
/// # use headroom::ops::{Lowering, lower};
/// let gpt2 = catalog::model("gpt2").map(|row| lower(&Lowering::parameters_only(&row.config)).parameters());
/// assert_eq!(gpt2, Some(124_439_808));
/// ```
pub fn lower(with: &Lowering) -> OpList {
    record::with_products(with, tensors_of(with))
}

/// A job's operations without their FLOPs, for questions about memory: they need no run of the modules.
pub(crate) fn without_products(with: &Lowering) -> OpList {
    record::with_parameters(with, tensors_of(with))
}

/// Working sets and saved tensors of serving and of the papers' stack; the kinds of blocks alone where a step is played.
fn tensors_of(with: &Lowering) -> OpList {
    let is_listed = !with.training || with.stack.is_listed();
    if is_listed { forward::of(with) } else { nothing_yet(with.model) }
}

/// The kinds of blocks of a model without their operations.
fn nothing_yet(model: &ModelConfig) -> OpList {
    let block = |(of, layers)| BlockKind { of, layers, ops: Vec::with_capacity(10), first_half: 0 };
    let (embedding, head) = (Vec::with_capacity(2), Vec::with_capacity(3));
    OpList { embedding, kinds: kinds(model).into_iter().map(block).collect(), head }
}

/// The operations of serving without their parameters: what a step works with, much quicker than with them.
pub(crate) fn without_parameters(with: &Lowering) -> OpList {
    forward::of(with)
}

/// The kinds of layers that a model has and how many of each, the most frequent first.
fn kinds(model: &ModelConfig) -> Vec<(LayerKind, u64)> {
    let layers = model.num_hidden_layers;
    if model.is_uniform() {
        return vec![(model.kind_of(0), layers)];
    }
    let mut found: Vec<(LayerKind, u64)> = Vec::with_capacity(4);
    for kind in (0..layers).map(|layer| model.kind_of(layer)) {
        match found.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, count)) => *count += 1,
            None => found.push((kind, 1)),
        }
    }
    sort_short(&mut found, |(a, of_a), (b, of_b)| (of_b, a) < (of_a, b));
    found
}

/// The lowering of a job: its shapes, formats and software.
pub fn lowering(job: &Job) -> Lowering<'_> {
    match job.run() {
        Run::Training(run) => {
            let recipe = run.recipe();
            Lowering {
                model: job.model(),
                seq_length: run.seq_length.saturating_add(run.tuning.tokens_before()),
                micro_batch_size: job.micro_batch_size().saturating_mul(run.tuning.objective.sequences()),
                context_length: run
                    .seq_length
                    .saturating_add(run.tuning.tokens_before())
                    .saturating_add(run.tuning.keys_before()),
                packed_text: run.packed_text(),
                concurrent_sequences: 0,
                parameter: recipe.parameter,
                made_in: recipe.parameter,
                activation: recipe.activation,
                kv_cache: CacheFormat::Bf16,
                block_size: 1,
                shared_prefix: 0,
                expert_parallel: false,
                dispatches: false,
                stack: run.stack,
                attention: run.attention,
                training: true,
                tensor_model_parallel_size: job.layout().t(),
                sequence_parallel: job.layout().sequence_parallel,
                recompute: run.recompute,
                autocast: run.precision == TrainingPrecision::AmpBf16,
                tuning: run.tuning,
            }
        }
        Run::Serving(run) => Lowering {
            model: job.model(),
            // A step holds a chunk of prompts, or one token of every sequence where these are more.
            seq_length: run
                .prefill_chunk_size
                .max(run.concurrent_sequences)
                .min(run.context_length.saturating_mul(run.concurrent_sequences)),
            micro_batch_size: 1,
            context_length: run.context_length,
            packed_text: None,
            concurrent_sequences: run.concurrent_sequences,
            parameter: run.quantization.dtype(),
            made_in: run.quantization.dtype(),
            activation: run.activation_dtype,
            kv_cache: run.kv_cache_dtype,
            block_size: run.block(),
            shared_prefix: run.shared_prefix,
            expert_parallel: run.expert_parallel,
            dispatches: run.dispatches(),
            stack: Stack::DEFAULT,
            attention: run.attention,
            training: false,
            tensor_model_parallel_size: job.layout().t(),
            sequence_parallel: false,
            recompute: Recompute::None,
            autocast: false,
            tuning: Tuning::FULL,
        },
    }
}
