//! A transformer and a run as operations with their parameters, saved tensors, workspace and FLOPs.
//!
//! Modules run on a tape. Memory of a training step is played there moment by moment. Parameters
//! and FLOPs of every stack, what serving works with, and what the papers' stack saves, are read
//! off one run of the same modules (`record`, `listed`). Megatron-LM's ranks share the matrices of
//! that record ([`megatron`]). Shapes carry their names, so an explanation never repeats a formula.
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
mod listed;
pub mod megatron;
pub(crate) mod modules;
mod played;
mod record;
pub(crate) mod tape;
mod tensor;
pub mod work;

pub use builder::Lowering;
pub use cache::{Cache, cache, cache_of_token};
pub(crate) use played::{Played, played};
pub(crate) use record::{is_shared_by_input, trainable};
pub use tensor::{Dim, EMBEDDING, EXPERTS_OF_RANK, Kept, Op, Role, Shape, Split, Tensor};

use crate::config::{
    CacheFormat, Float8, Job, LayerKind, ModelConfig, Run, ServingRun, TrainingPrecision,
    TrainingRun,
};
use crate::units::{DType, Flops, sort_short};

/// The whole model as operations: once for the embedding, once for each kind of block, once for the
/// head.
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
    /// The parts that these blocks are made of.
    pub of: LayerKind,
    /// How many there are.
    pub layers: u64,
    /// The operations of one: attention and state first, then feed-forward or experts.
    pub ops: Vec<Op>,
    /// How many operations come before the first residual sum.
    pub first_half: usize,
}

impl BlockKind {
    /// Returns the operations before the first residual sum, and those behind it.
    pub fn halves(&self) -> [&[Op]; 2] {
        let (first, second) = self.ops.split_at(self.first_half.min(self.ops.len()));
        [first, second]
    }
}

impl OpList {
    /// Returns the number of parameters of the whole model; a tied head adds none.
    pub fn parameters(&self) -> u64 {
        let blocks =
            self.kinds.iter().map(|kind| parameters(&kind.ops).saturating_mul(kind.layers));
        blocks
            .fold(parameters(&self.embedding), u64::saturating_add)
            .saturating_add(parameters(&self.head))
    }

    /// Returns a block of the usual kind.
    pub fn usual(&self) -> &[Op] {
        self.kinds.first().map_or(&[], |kind| &kind.ops)
    }

    /// Returns all operations, of each kind of block those of one.
    pub fn all(&self) -> impl Iterator<Item = &Op> {
        self.embedding.iter().chain(self.kinds.iter().flat_map(|kind| &kind.ops)).chain(&self.head)
    }

    /// Returns the sum over all blocks of the FLOPs that `of` finds in one.
    pub fn over_blocks(&self, of: impl Fn(&[Op]) -> Flops) -> Flops {
        self.kinds.iter().map(|kind| of(&kind.ops) * crate::units::to_f64(kind.layers)).sum()
    }

    /// Its parts: embedding, blocks, head.
    fn parts(&mut self) -> impl Iterator<Item = &mut Vec<Op>> {
        let blocks = self.kinds.iter_mut().map(|kind| &mut kind.ops);
        std::iter::once(&mut self.embedding).chain(blocks).chain([&mut self.head])
    }

    /// Its operations with the tensors that they save and work with, at other lengths; see
    /// [`Lowering::lengths`].
    pub(crate) fn at(&self, lengths: &[Dim]) -> Self {
        let all = |ops: &[Op]| ops.iter().map(|op| op.at(lengths)).collect();
        let kinds =
            self.kinds.iter().map(|kind| BlockKind { ops: all(&kind.ops), ..*kind }).collect();
        Self { embedding: all(&self.embedding), kinds, head: all(&self.head) }
    }

    /// Returns the FLOPs of one forward pass of one micro-batch, all ranks of the model together.
    pub fn forward(&self) -> Flops {
        forward(&self.embedding) + self.over_blocks(forward) + forward(&self.head)
    }

    /// Returns the FLOPs of one backward pass of one micro-batch, without recomputation: every
    /// product again for each operand that wants a gradient.
    pub fn backward(&self) -> Flops {
        let backward = |ops: &[Op]| ops.iter().map(|op| op.backward).sum();
        backward(&self.embedding) + self.over_blocks(backward) + backward(&self.head)
    }
}

/// Returns the number of parameters of a list of operations.
pub fn parameters(ops: &[Op]) -> u64 {
    tensors(ops, Role::Parameter)
        .map(|(_, tensor)| tensor.shape.elements().0)
        .fold(0, u64::saturating_add)
}

/// Returns the FLOPs of one forward pass of a list of operations.
pub fn forward(ops: &[Op]) -> Flops {
    ops.iter().map(|op| op.forward).sum()
}

/// Returns all tensors of one role, with their operation.
pub fn tensors(ops: &[Op], role: Role) -> impl Iterator<Item = (&Op, &Tensor)> {
    ops.iter().flat_map(move |op| {
        op.tensors.iter().filter(move |tensor| tensor.role == role).map(move |tensor| (op, tensor))
    })
}

/// Returns a job's operations, for one micro-batch (training) or one prefill chunk (serving), with
/// FLOPs and shapes of the whole tensor-parallel group.
///
/// All are read off a run of the model's modules: working sets and saved tensors for serving and
/// for the papers' stack alone, since a training step of others is played elsewhere, moment by
/// moment.
///
/// ```
/// # use headroom::catalog;
/// # use headroom::ops::{Lowering, lower};
/// let parameters = |config| lower(&Lowering::parameters_only(config)).parameters();
/// let gpt2 = catalog::model("gpt2").map(|row| parameters(&row.config));
/// assert_eq!(gpt2, Some(124_439_808));
/// ```
pub fn lower(with: &Lowering) -> OpList {
    record::of(with, true)
}

/// A job's operations without their FLOPs, for questions about memory.
pub(crate) fn without_products(with: &Lowering) -> OpList {
    record::of(with, false)
}

/// Returns a model's operations with their parameters alone, whole.
pub fn declared(model: &ModelConfig) -> OpList {
    record::of(&Lowering::parameters_only(model), false)
}

/// Returns the number of parameters of a model, a tied head counted once.
///
/// ```
/// let gpt2 = headroom::catalog::model("gpt2").expect("a known model");
/// assert_eq!(headroom::ops::parameters_of(&gpt2.config), 124_439_808);
/// ```
pub fn parameters_of(model: &ModelConfig) -> u64 {
    declared(model).parameters()
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

/// True if parameters that transformers' modules make in a format of their own keep it in training.
///
/// DeepSpeed, and all that keeps master weights, casts the whole model (`module.bfloat16()`); FSDP2
/// gathers every parameter in one format. Megatron-LM's modules, and those of serving engines, are
/// others, which make routers in the model's format (`params_dtype`). Without 16 bits all formats
/// are fp32 anyway.
fn keeps_formats(job: &Job, run: &TrainingRun) -> bool {
    run.precision == TrainingPrecision::Bf16Pure
        && run.stack.is_played()
        && !job.layout().sharding.shards_optimizer()
}

/// The lowering of a job that serves.
fn serving<'a>(job: &'a Job, run: &ServingRun) -> Lowering<'a> {
    Lowering {
        // A step holds a chunk of prompts, or one token of every sequence where these are more.
        seq_length: run
            .prefill_chunk_size
            .max(run.concurrent_sequences)
            .min(run.context_length.saturating_mul(run.concurrent_sequences)),
        source_length: job
            .model()
            .only_source()
            .or(run.source_length)
            .unwrap_or(run.context_length),
        micro_batch_size: 1,
        context_length: run.context_length,
        concurrent_sequences: run.concurrent_sequences,
        images: run.images,
        parameter: run.quantization.dtype(),
        made_in: run.quantization.dtype(),
        activation: run.activation_dtype,
        kv_cache: run.kv_cache_dtype,
        block_size: run.block(),
        shared_prefix: run.shared_prefix,
        expert_parallel: run.expert_parallel,
        dispatches: run.dispatches(),
        attention: run.attention,
        training: false,
        tensor_model_parallel_size: job.layout().t(),
        ..Lowering::parameters_only(job.model())
    }
}

/// Returns the lowering of a job: its shapes, formats and software.
pub fn lowering(job: &Job) -> Lowering<'_> {
    match job.run() {
        Run::Training(run) => {
            let (recipe, seq_length) =
                (run.recipe(), run.seq_length.saturating_add(run.tuning.tokens_before()));
            let parameter = if run.tuning.upcasts_rest() { DType::Fp32 } else { recipe.parameter };
            Lowering {
                model: job.model(),
                seq_length,
                source_length: job
                    .model()
                    .only_source()
                    .or(run.source_length)
                    .unwrap_or(seq_length),
                micro_batch_size: job
                    .micro_batch_size()
                    .saturating_mul(run.tuning.objective.sequences()),
                context_length: seq_length.saturating_add(run.tuning.keys_before()),
                packed_text: run.packed_text(),
                images: run.images,
                concurrent_sequences: 0,
                parameter,
                made_in: parameter,
                keeps_formats: keeps_formats(job, run),
                activation: recipe.activation,
                kv_cache: CacheFormat::Bf16,
                block_size: 1,
                shared_prefix: 0,
                expert_parallel: false,
                dispatches: false,
                stack: run.stack,
                loss: run.loss,
                attention: run.attention,
                masks_windows: run.masks_windows,
                dropout: run.dropout,
                training: true,
                tensor_model_parallel_size: job.layout().t(),
                sequence_parallel: job.layout().sequence_parallel,
                recompute: run.recompute,
                autocast: run.precision == TrainingPrecision::AmpBf16 || run.tuning.autocast,
                compiled: run.compile
                    && run.stack.forbidden(crate::stacks::NotWith::Compiling).is_none(),
                float8: if run.stack.forbidden(crate::stacks::NotWith::Float8).is_none() {
                    run.float8
                } else {
                    Float8::OFF
                },
                dispatch: run.dispatch,
                tuning: run.tuning,
            }
        }
        Run::Serving(run) => serving(job, run),
    }
}
