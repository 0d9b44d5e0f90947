//! Megatron-Core with Transformer Engine: what one rank holds, saves for backward, and needs while backward runs.
//!
//! The list follows the modules of Megatron-LM (`megatron/core/transformer`, core 0.14 to 0.16) and Transformer Engine 2.x
//! (`transformer_engine/pytorch`). Every shape is one rank's own share: tensor, sequence, context and expert parallelism are in the
//! dimensions already.
//!
//! What is saved, and by whom:
//!
//! - `LayerNormLinear` (norm with query, key and value projection; norm with the first feed-forward matrix): its input, the normed
//!   input and one (RMS) or two fp32 statistics per token. Under sequence parallelism the normed input is kept as this rank's part
//!   and gathered again in backward.
//! - `DotProductAttention`: queries, keys and values once (contiguous copies after rotary embedding, otherwise views of the
//!   projection's output), the output and one fp32 log-sum-exp per query (cuDNN, FlashAttention), or the probabilities and, with
//!   dropout, mask and dropped probabilities (unfused). FlashAttention's package and context parallelism keep the output in a layout of
//!   their own, so that the projection's input is a second copy.
//! - `Linear`: its input. Fused activation functions: their input. Bias, dropout and residual: a mask of one byte, with dropout only.
//! - The output layer keeps its input; the vocabulary-parallel cross-entropy keeps an fp32 softmax, or, in Transformer Engine's
//!   kernel, the gradient that overwrites the logits.
//!
//! [`Role::Workspace`] tensors are what is alive beside saved tensors while that operation's *backward* runs: the gradients that
//! come in and go out, and the residual stream's gradient beside them.

mod attention;
mod ends;
mod experts;
mod latent;
mod mlp;
mod work;

pub use work::GROUPED_STREAMS;

use super::tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};
use super::work::Cost;
use crate::config::{
    AttentionKernel, Job, MegatronOptions, ModelConfig, Normalization, Overlap, ParallelLayout, ProductFormat, Recompute,
    TrainingRun,
};
use crate::sources::{self, Source};
use crate::units::DType;

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

/// One operation and the module it is recomputed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The operation; its shapes are this rank's share.
    pub op: Op,
    /// The module.
    pub module: Module,
    /// What it costs in time.
    pub costs: Vec<Cost>,
}

/// The operations of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankModel {
    /// Token and position embedding.
    pub embedding: Vec<Step>,
    /// A block with a dense feed-forward layer.
    pub dense: Vec<Step>,
    /// A block with experts; empty where the model has none.
    pub experts: Vec<Step>,
    /// Final norm, output head, loss.
    pub head: Vec<Step>,
}

/// Everything that shapes one rank's list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank<'a> {
    model: &'a ModelConfig,
    layout: ParallelLayout,
    options: MegatronOptions,
    seq_length: u64,
    micro_batch_size: u64,
    /// Tokens of one text where several share a sequence.
    packed_text: Option<u64>,
    parameter: DType,
    activation: DType,
    unfused_attention: bool,
    selective: bool,
    products: ProductFormat,
    overlap: Overlap,
    /// Weights want no gradient.
    frozen: bool,
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
    /// Tokens on their way to the experts, the experts, and the way back; empty where the model has none.
    Routed,
    /// Shared experts and the residual sum.
    Shared,
    /// Final norm, output head, loss.
    Head,
}

/// What a [`Part`] depends on, beside the model, the run and what is recomputed.
pub type PartKey = (Part, [u64; 3], bool);

impl Part {
    /// A block with a dense feed-forward layer.
    pub const DENSE: [Self; 2] = [Self::Attention, Self::Mlp];
    /// A block with experts.
    pub const EXPERTS: [Self; 4] = [Self::Attention, Self::Router, Self::Routed, Self::Shared];

    /// Jobs that differ in nothing but layout and micro-batch and have equal keys have parts of equal sizes and work.
    ///
    /// Routed tokens are counted whole: how sequences and ranks make up a rank's tokens does not matter to the experts.
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

    /// The operations of one rank of a training job.
    pub fn steps(self, job: &Job, run: &TrainingRun) -> Vec<Step> {
        let rank = Rank::of(job, run);
        match self {
            Self::Embedding => ends::embedding(&rank),
            Self::Attention if rank.model.mla.is_some() => latent::steps(&rank),
            Self::Attention => attention::steps(&rank),
            Self::Mlp => mlp::steps(&rank),
            Self::Router => experts::router_steps(&rank),
            Self::Routed => experts::routed_steps(&rank),
            Self::Shared => experts::shared_steps(&rank),
            Self::Head => ends::head(&rank),
        }
    }
}

/// The operations of one rank of a training job under Megatron-LM.
pub fn rank_model(job: &Job, run: &TrainingRun) -> RankModel {
    let join = |parts: &[Part]| parts.iter().flat_map(|part| part.steps(job, run)).collect();
    RankModel {
        embedding: Part::Embedding.steps(job, run),
        dense: join(&Part::DENSE),
        experts: if job.model().moe.is_some() { join(&Part::EXPERTS) } else { Vec::new() },
        head: Part::Head.steps(job, run),
    }
}

impl<'a> Rank<'a> {
    fn of(job: &'a Job, run: &TrainingRun) -> Self {
        let recipe = run.recipe();
        Self {
            model: job.model(),
            layout: *job.layout(),
            options: run.megatron,
            seq_length: run.seq_length.div_ceil(job.layout().cp()),
            micro_batch_size: job.micro_batch_size().saturating_mul(run.tuning.objective.sequences()),
            packed_text: run.packed_text(),
            parameter: recipe.parameter,
            activation: recipe.activation,
            unfused_attention: matches!(run.attention, AttentionKernel::Standard),
            selective: matches!(run.recompute, Recompute::Selective),
            products: run.products,
            overlap: run.overlap,
            frozen: run.tuning.freezes_model(),
        }
    }
}

impl Rank<'_> {
    /// Tensor degree.
    const fn t(&self) -> u64 {
        self.layout.t()
    }

    /// Whether tokens are split over tensor ranks outside attention and feed-forward.
    const fn splits_tokens(&self) -> bool {
        self.layout.sequence_parallel && self.t() > 1
    }

    /// Tokens of one sequence that attention and feed-forward see.
    const fn s(&self) -> Dim {
        Dim("seq_length on this rank", self.seq_length)
    }

    /// Tokens of one sequence outside attention and feed-forward: fewer under sequence parallelism.
    const fn local_s(&self) -> Dim {
        if self.splits_tokens() { Dim("sequence-parallel part", self.seq_length.div_ceil(self.t())) } else { self.s() }
    }

    /// `micro_batch_size`.
    const fn b(&self) -> Dim {
        Dim("micro_batch_size", self.micro_batch_size)
    }

    /// `hidden_size`.
    const fn h(&self) -> Dim {
        Dim("hidden_size", self.model.hidden_size)
    }

    /// Query heads of this rank.
    const fn heads(&self) -> Dim {
        Dim("attention heads on this rank", self.model.num_attention_heads.div_ceil(self.t()))
    }

    /// Key/value heads of this rank, at least one.
    const fn kv_heads(&self) -> Dim {
        Dim("key/value heads on this rank", self.model.num_key_value_heads.div_ceil(self.t()))
    }

    /// Rows of embedding and head on this rank, padded.
    const fn vocabulary(&self) -> Dim {
        Dim("padded vocabulary on this rank", self.options.padded_vocab_size(self.model.vocab_size, self.t()).div_ceil(self.t()))
    }

    /// A width split over tensor ranks.
    const fn split(&self, name: &'static str, width: u64) -> Dim {
        Dim(name, width.div_ceil(self.t()))
    }

    /// A parameter.
    fn weight<const N: usize>(&self, name: &'static str, dims: [Dim; N]) -> Tensor {
        tensor(name, Role::Parameter, dims, self.parameter)
    }

    /// A saved activation.
    fn saved<const N: usize>(&self, name: &'static str, dims: [Dim; N]) -> Tensor {
        tensor(name, Role::Saved, dims, self.activation)
    }

    /// Something alive while the operation's backward runs.
    fn alive<const N: usize>(&self, name: &'static str, dims: [Dim; N]) -> Tensor {
        tensor(name, Role::Workspace, dims, self.activation)
    }

    /// A saved piece of the residual stream.
    fn hidden(&self, name: &'static str) -> Tensor {
        self.saved(name, [self.local_s(), self.b(), self.h()])
    }

    /// The gradient of the residual stream beside the operation.
    fn residual_gradient(&self) -> Tensor {
        self.alive("gradient of the residual stream", [self.local_s(), self.b(), self.h()])
    }

    /// A gradient of `[tokens, hidden_size]` that attention or feed-forward sees: all tokens of the tensor group.
    fn full_gradient(&self, name: &'static str) -> Tensor {
        self.alive(name, [self.s(), self.b(), self.h()])
    }

    /// The input that sequence parallelism gathers again for the weight's gradient.
    fn gathered(&self, name: &'static str) -> Option<Tensor> {
        self.splits_tokens().then(|| self.full_gradient(name))
    }

    /// The weight's gradient where the matrix product does not add it to the main gradient itself.
    fn weight_gradient(&self, rows: Dim, columns: Dim) -> Option<Tensor> {
        let apart = !self.options.gradient_accumulation_fusion || !self.options.transformer_engine;
        apart.then(|| tensor("gradient of the weight", Role::Workspace, [rows, columns], self.parameter))
    }

    /// Norm weights over `width`, and biases of a layer norm.
    fn norm_weights(&self, width: Dim, tensors: &mut Vec<Tensor>) {
        tensors.push(self.weight("norm weight", [width]));
        if matches!(self.model.normalization, Normalization::LayerNorm) {
            tensors.push(self.weight("norm bias", [width]));
        }
    }

    /// What a norm saves beside its input: one fp32 value per row, two with a mean.
    fn statistics<const N: usize>(&self, rows: [Dim; N], tensors: &mut Vec<Tensor>) {
        tensors.push(tensor("norm statistic", Role::Saved, rows, DType::Fp32));
        if matches!(self.model.normalization, Normalization::LayerNorm) {
            tensors.push(tensor("norm mean", Role::Saved, rows, DType::Fp32));
        }
    }

    /// A saved tensor that selective recomputation of `module` does without.
    fn droppable(&self, tensor: Tensor, dropped: bool) -> Tensor {
        if self.selective && dropped { Tensor { kept: Kept::AttentionCore, ..tensor } } else { tensor }
    }

    /// Bias, dropout and residual sum after attention or feed-forward.
    fn bias_dropout_add(&self, name: &'static str) -> Step {
        let mut tensors = vec![self.residual_gradient()];
        if self.options.hidden_dropout {
            let dims = [self.local_s(), self.b(), self.h()];
            tensors.push(tensor("dropout mask", Role::Saved, dims, DType::Mask));
            tensors.push(self.alive("gradient before dropout", dims));
        }
        // The sum reads both operands and writes one; dropout keeps a byte of mask for each element, and backward scales by it.
        let piece = self.hidden_bytes();
        let mask = self.local_tokens().saturating_mul(self.model.hidden_size);
        let dropout = if self.options.hidden_dropout { (mask, piece.saturating_mul(2).saturating_add(mask)) } else { (0, 0) };
        step(name, Module::Rest, tensors).streams([piece.saturating_mul(3).saturating_add(dropout.0), dropout.1], [1, 1])
    }
}

/// A tensor of this rank.
fn tensor<const N: usize>(name: &'static str, role: Role, dims: [Dim; N], dtype: DType) -> Tensor {
    Tensor { name, role, shape: Shape::of(dims), dtype, split: Split::Rank, kept: Kept::Block }
}

/// An operation without FLOPs of its own: those are counted for the whole model.
fn step(name: &'static str, module: Module, tensors: Vec<Tensor>) -> Step {
    let source: Source = match module {
        Module::Moe | Module::MoeActivation | Module::SharedExperts => sources::MEGATRON_CORE,
        _ => sources::TRANSFORMER_ENGINE,
    };
    let attention_core = matches!(module, Module::CoreAttention);
    Step { op: Op { name, tensors, attention_core, source, ..Op::NONE }, module, costs: Vec::new() }
}
