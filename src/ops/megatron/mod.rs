//! Megatron-Core with Transformer Engine: what one rank holds, saves for backward, and needs while
//! backward runs.
//!
//! The layers are the model's own: their matrices are read off the record of its modules, whole.
//! This stack carries them out with Megatron-LM's modules (`megatron/core/transformer`, core 0.14
//! to 0.16) and the kernels of Transformer Engine 2.x (`transformer_engine/pytorch`): it joins
//! norms, projections and biases, says what each saves and sends, and shares all out over tensor,
//! sequence, context and expert ranks. Every shape is one rank's own share.
//!
//! Each saves for backward:
//!
//! - `LayerNormLinear` (norm with query, key and value projection; norm with the first feed-forward
//!   matrix): its input, the normed input and one (RMS) or two fp32 statistics per token. Under
//!   sequence parallelism the normed input is kept as this rank's part and gathered again in
//!   backward.
//! - `DotProductAttention`: queries, keys and values once (contiguous copies after rotary
//!   embedding, otherwise views of the projection's output), the output and one fp32 log-sum-exp
//!   per query (cuDNN, FlashAttention), or the probabilities and, with dropout, mask and dropped
//!   probabilities (unfused). FlashAttention's package and context parallelism keep the output in a
//!   layout of their own, so that the projection's input is a second copy.
//! - `Linear`: its input. Fused activation functions: their input. Bias, dropout and residual: a
//!   mask of one byte, with dropout only.
//! - The output layer keeps its input; the vocabulary-parallel cross-entropy keeps an fp32 softmax,
//!   or, in Transformer Engine's kernel, the gradient that overwrites the logits.
//!
//! [`Workspace`](super::Role::Workspace) tensors are what is alive beside saved tensors while that
//! operation's *backward* runs: the gradients that come in and go out, and the residual stream's
//! gradient beside them.
//!
//! Megatron-LM's block is a row, attention, then feed-forward, each behind a norm. So is it
//! *modelled* where a family runs both on one input or has further norms, and without what
//! Megatron-LM's modules lack: attention sinks, gates of shared experts, biases of latent
//! projections and of the head, norms of the embedding.

mod adapters;
mod attention;
mod ends;
mod experts;
mod feed_forward;
mod kernels;
mod layers;
mod rank;

pub use adapters::{adapter_beside, is_of_adapter};
pub use rank::GROUPED_STREAMS;

use super::OpList;
use super::tensor::Op;
use super::work::PassWork;
use crate::config::{Feed, Job, RecomputeModules, TrainingRun};
use rank::Rank;

/// Modules that selective recomputation can bring back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// None: saved unless the whole block is recomputed.
    Rest,
    /// `core_attn`.
    CoreAttention,
    /// `layernorm`.
    Norm,
    /// `mla_up_proj`.
    LatentUp,
    /// `mlp`.
    Mlp,
    /// `moe`.
    Moe,
    /// `moe_act`.
    MoeActivation,
    /// `shared_experts`.
    SharedExperts,
}

impl Module {
    /// Returns true if selective recomputation of these modules recomputes this one.
    pub const fn is_among(self, modules: &RecomputeModules) -> bool {
        match self {
            Self::Rest => false,
            Self::CoreAttention => modules.core_attn,
            Self::Norm => modules.layernorm,
            Self::LatentUp => modules.mla_up_proj,
            Self::Mlp => modules.mlp,
            Self::Moe => modules.moe,
            Self::MoeActivation => modules.moe_act,
            Self::SharedExperts => modules.shared_experts || modules.moe,
        }
    }
}

/// One operation and the module it is recomputed with.
#[derive(Clone, Debug, PartialEq)]
pub struct RankOp {
    /// The operation; its shapes are this rank's share.
    pub op: Op,
    /// The module.
    pub module: Module,
    /// Its products, bytes and messages.
    pub costs: Vec<PassWork>,
}

/// The operations of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankModel {
    /// Token and position embedding.
    pub embedding: Vec<RankOp>,
    /// A block with a dense feed-forward layer; of a model without such blocks its attention alone.
    pub dense: Vec<RankOp>,
    /// A block with experts; empty where the model has none.
    pub experts: Vec<RankOp>,
    /// Final norm, output head, loss.
    pub head: Vec<RankOp>,
}

/// A part of one rank's operations: each depends on few of a layout's numbers, see [`Part::key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Token and position embedding.
    Embedding,
    /// From a block's input to the first residual sum.
    Attention,
    /// From there on, with a dense feed-forward layer.
    Mlp,
    /// From there on, with experts: norm and router.
    Router,
    /// Tokens on their way to the experts, the experts, and the way back.
    Routed,
    /// Shared experts and the residual sum.
    Shared,
    /// Final norm, output head, loss.
    Head,
}

/// All that a [`Part`] depends on, beside the model, the run and what is recomputed.
pub type PartKey = (Part, [u64; 3], bool);

impl Part {
    /// A block with a dense feed-forward layer.
    pub const DENSE: [Self; 2] = [Self::Attention, Self::Mlp];
    /// A block with experts.
    pub const EXPERTS: [Self; 4] = [Self::Attention, Self::Router, Self::Routed, Self::Shared];

    /// Jobs that differ in nothing but layout and micro-batch and have equal keys have parts of
    /// equal sizes and work.
    ///
    /// Routed tokens are counted whole: how sequences and ranks make up a rank's tokens does not
    /// matter to the experts.
    pub fn key(self, job: &Job) -> PartKey {
        let layout = job.layout();
        let (t, cp, b) = (layout.t(), layout.cp(), job.micro_batch_size());
        let splits = layout.sequence_parallel && t > 1;
        if self == Self::Routed {
            let sequence = job.seq_length().div_ceil(cp);
            let local = if splits { sequence.div_ceil(t) } else { sequence };
            return (self, [local.saturating_mul(b), layout.ep(), layout.etp()], false);
        }
        (self, [t, cp, b], splits)
    }

    /// Returns the operations of one rank of a training job of a model with these layers, whole;
    /// none where these have no such part.
    pub fn steps(self, list: &OpList, job: &Job, run: &TrainingRun) -> Vec<RankOp> {
        let rank = Rank::of(job, run);
        let steps = match self {
            Self::Embedding => return vec![rank.embedding(list)],
            Self::Head => return rank.head(list),
            Self::Attention => rank.attention(layers::attention(list)),
            Self::Mlp => rank.feed_forward(layers::with(list, Feed::Dense)),
            Self::Router => rank.router(layers::with(list, Feed::Experts)),
            Self::Routed => rank.routed(layers::with(list, Feed::Experts)),
            Self::Shared => rank.shared(layers::with(list, Feed::Experts)),
        };
        // The residual stream runs beside all that a block does.
        steps.into_iter().map(|step| step.with([rank.residual_gradient()])).collect()
    }
}

/// Returns the operations of one rank of a training job under Megatron-LM.
pub fn rank_model(job: &Job, run: &TrainingRun) -> RankModel {
    rank_of(&super::declared(job.model()), job, run)
}

/// Returns the operations of one rank of a training job of a model with these layers, whole.
pub fn rank_of(list: &OpList, job: &Job, run: &TrainingRun) -> RankModel {
    let join = |parts: &[Part]| parts.iter().flat_map(|part| part.steps(list, job, run)).collect();
    RankModel {
        embedding: join(&[Part::Embedding]),
        dense: join(&Part::DENSE),
        experts: if job.model().moe.is_some() { join(&Part::EXPERTS) } else { Vec::new() },
        head: join(&[Part::Head]),
    }
}
