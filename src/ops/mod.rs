//! The operation list: a transformer and a run lowered into operations with their parameters, saved tensors, workspace and FLOPs.
//!
//! Everything the estimator says is a sum over this list. Shapes carry their names, so an explanation never repeats a formula.
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

mod attention;
mod builder;
mod cache;
mod declared;
mod division;
mod ends;
mod experts;
pub mod formats;
mod latent;
pub mod megatron;
mod mlp;
pub(crate) mod modules;
pub(crate) mod tape;
mod tensor;

pub use builder::Lowering;
pub use cache::{Cache, cache};
pub(crate) use declared::trainable;
pub use tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};

use crate::config::{AttentionKernel, CacheFormat, Job, Kernels, Recompute, Run, TrainingPrecision, Tuning};
use crate::units::Flops;

/// Tokens that go through the chunked loss at once.
pub const LOSS_CHUNK_TOKENS: u64 = 1024;

/// The whole model as operations: once for the embedding, once for each kind of block, once for the head.
#[derive(Clone, Debug, PartialEq)]
pub struct OpList {
    /// Token and position embedding.
    pub embedding: Vec<Op>,
    /// One transformer block of the usual kind: attention first, then feed-forward or experts.
    pub block: Vec<Op>,
    /// A block of the rarer kind: dense where the usual one has experts; empty where all are alike.
    pub other: Vec<Op>,
    /// Whether it is the usual kind of block that has experts.
    pub usual_has_experts: bool,
    /// How many blocks are of the rarer kind.
    pub other_layers: u64,
    /// How many operations of a block belong to attention.
    pub attention_operations: usize,
    /// Final norm, output head, loss.
    pub head: Vec<Op>,
    /// How many blocks there are.
    pub num_hidden_layers: u64,
}

impl OpList {
    /// Parameters of the whole model; a tied head adds none.
    pub fn parameters(&self) -> u64 {
        let usual = parameters(&self.block).saturating_mul(self.num_hidden_layers.saturating_sub(self.other_layers));
        let blocks = usual.saturating_add(parameters(&self.other).saturating_mul(self.other_layers));
        parameters(&self.embedding).saturating_add(blocks).saturating_add(parameters(&self.head))
    }

    /// The attention half and the feed-forward half of a usual block.
    pub fn halves(&self) -> (&[Op], &[Op]) {
        self.block.split_at(self.attention_operations.min(self.block.len()))
    }

    /// A sum over all blocks of a figure of one.
    pub fn over_blocks<T>(&self, of: impl Fn(&[Op]) -> T) -> T
    where
        T: std::ops::Mul<f64, Output = T> + std::ops::Add<Output = T>,
    {
        let to = crate::units::to_f64;
        of(&self.block) * to(self.num_hidden_layers.saturating_sub(self.other_layers)) + of(&self.other) * to(self.other_layers)
    }

    /// FLOPs of one forward pass of one micro-batch, all ranks of the model together.
    pub fn forward(&self) -> Flops {
        forward(&self.embedding) + self.over_blocks(forward) + forward(&self.head)
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

/// Lowers a job to its operation list, for one micro-batch (training) or one prefill chunk (serving).
///
/// ```
/// # use headroom::catalog;
/// # use headroom::ops::{Lowering, lower};
/// let gpt2 = catalog::model("gpt2").map(|row| lower(&Lowering::parameters_only(&row.config)).parameters());
/// assert_eq!(gpt2, Some(124_439_808));
/// ```
pub fn lower(with: &Lowering) -> OpList {
    match with.kernels {
        Kernels::Megatron if with.training => megatron::lower(with),
        _ => listed(with),
    }
}

/// The operation list as the papers write it.
fn listed(with: &Lowering) -> OpList {
    let mut list = without_parameters(with);
    declared::add(with, &mut list);
    list
}

/// The operation list of serving without its parameters: what a step works with, much quicker than the whole list.
pub(crate) fn without_parameters(with: &Lowering) -> OpList {
    let mut block = attention::operations(with);
    let attention_operations = block.len();
    let model = with.model;
    let sparse =
        model.moe.as_ref().map_or(0, |moe| (0..model.num_hidden_layers).filter(|layer| moe.layers.contains(*layer)).count());
    let sparse = u64::try_from(sparse).unwrap_or(u64::MAX);
    let dense = model.num_hidden_layers.saturating_sub(sparse);
    let mut other = if sparse.min(dense) > 0 { block.clone() } else { Vec::new() };
    match &model.moe {
        Some(moe) if sparse > dense => {
            block.extend(experts::operations(with, moe));
            if dense > 0 {
                other.extend(mlp::operations(with));
            }
        }
        Some(moe) if sparse > 0 => {
            block.extend(mlp::operations(with));
            other.extend(experts::operations(with, moe));
        }
        _ => block.extend(mlp::operations(with)),
    }
    OpList {
        embedding: ends::embedding(with),
        block,
        other,
        usual_has_experts: sparse > dense,
        other_layers: sparse.min(dense),
        attention_operations,
        head: ends::head(with),
        num_hidden_layers: with.model.num_hidden_layers,
    }
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
                kernels: run.kernels,
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
            kernels: Kernels::Fused,
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

/// Whether scores are written to memory.
const fn writes_scores(with: &Lowering) -> bool {
    matches!(with.attention, AttentionKernel::Standard)
}
