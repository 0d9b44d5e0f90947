//! One rank: its share of tokens, heads and columns, the tensors of its operations, and the costs
//! of these.

use super::layers::Linear;
use super::{Module, RankOp};
use crate::config::{
    Job, MegatronOptions, ModelConfig, Normalization, ParallelLayout, ProductFormat, Recompute,
    TrainingRun,
};
use crate::ops::tensor::{Dim, Kept, Op, Role, Shape, Split, Tensor};
use crate::ops::work::{
    Behind, Collective, Core, Exchange, Operands, PassWork, ProcessGroup, Product, Work,
};
use crate::sources::{self, Source};
use crate::units::DType;

/// Streams over which Transformer Engine deals out the products of experts, one product each
/// (`multi_stream_cublas_gemm` in `transformer_engine/common/gemm/cublaslt_gemm.cu`,
/// `num_compute_streams` in `transformer_engine/multi_stream.h`).
pub const GROUPED_STREAMS: u64 = 4;

/// A collective operation among tensor ranks, whether it is in backward, and what it may hide
/// behind.
type Message = (Collective, bool, Behind);

/// Everything that shapes one rank's operations, beside the layers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank<'a> {
    pub model: &'a ModelConfig,
    pub layout: &'a ParallelLayout,
    pub run: &'a TrainingRun,
    /// Tokens of a sequence on this rank, and sequences.
    pub seq_length: u64,
    pub micro_batch_size: u64,
    pub parameter: DType,
    pub activation: DType,
}

impl<'a> Rank<'a> {
    pub fn of(job: &'a Job, run: &'a TrainingRun) -> Self {
        let (recipe, layout) = (run.recipe(), job.layout());
        Self {
            model: job.model(),
            layout,
            run,
            seq_length: run.seq_length.div_ceil(layout.cp()),
            micro_batch_size: job
                .micro_batch_size()
                .saturating_mul(run.tuning.objective.sequences()),
            parameter: recipe.parameter,
            activation: recipe.activation,
        }
    }

    /// Megatron-LM's options.
    pub const fn options(&self) -> &'a MegatronOptions {
        &self.run.megatron
    }
}

/// Sizes.
impl Rank<'_> {
    /// Tensor degree.
    pub const fn t(&self) -> u64 {
        self.layout.t()
    }

    /// True if tokens are split over tensor ranks outside attention and feed-forward.
    pub const fn splits_tokens(&self) -> bool {
        self.layout.sequence_parallel && self.t() > 1
    }

    /// Tokens of one sequence that attention and feed-forward see.
    pub const fn s(&self) -> Dim {
        Dim("seq_length", self.seq_length)
    }

    /// Tokens of one sequence outside attention and feed-forward: fewer under sequence parallelism.
    pub const fn local_s(&self) -> Dim {
        if self.splits_tokens() {
            Dim("seq_length", self.seq_length.div_ceil(self.t()))
        } else {
            self.s()
        }
    }

    /// `micro_batch_size`.
    pub const fn b(&self) -> Dim {
        Dim("micro_batch_size", self.micro_batch_size)
    }

    /// `hidden_size`.
    pub const fn h(&self) -> Dim {
        Dim("hidden_size", self.model.hidden_size)
    }

    /// Tokens that attention and feed-forward see.
    pub const fn all(&self) -> Rows {
        [self.s(), self.b()]
    }

    /// Tokens outside them.
    pub const fn local(&self) -> Rows {
        [self.local_s(), self.b()]
    }

    /// Query heads of this rank.
    pub const fn heads(&self) -> Dim {
        Dim("num_attention_heads", self.model.num_attention_heads.div_ceil(self.t()))
    }

    /// Key/value heads of this rank, at least one.
    pub const fn kv_heads(&self) -> Dim {
        Dim("num_key_value_heads", self.model.num_key_value_heads.div_ceil(self.t()))
    }

    /// Bytes of so many activations.
    pub fn bytes(&self, elements: u64) -> u64 {
        elements.saturating_mul(self.activation.bits()).div_ceil(8)
    }

    /// Bytes of one piece of the residual stream.
    pub fn hidden_bytes(&self) -> u64 {
        self.bytes(count(self.local()).saturating_mul(self.model.hidden_size))
    }
}

/// Tensors.
impl Rank<'_> {
    /// A parameter.
    pub fn weight<const N: usize>(&self, name: &'static str, dims: [Dim; N]) -> Tensor {
        tensor(name, Role::Parameter, dims, self.parameter)
    }

    /// A saved activation.
    pub fn saved(&self, name: &'static str, [first, second]: Rows, columns: Dim) -> Tensor {
        tensor(name, Role::Saved, [first, second, columns], self.activation)
    }

    /// Something alive while the operation's backward runs.
    pub fn alive(&self, name: &'static str, [first, second]: Rows, columns: Dim) -> Tensor {
        tensor(name, Role::Workspace, [first, second, columns], self.activation)
    }

    /// A saved piece of the residual stream.
    pub fn hidden(&self, name: &'static str) -> Tensor {
        self.saved(name, self.local(), self.h())
    }

    /// The block's input: saved in any case, as the checkpoint of a recomputed block.
    pub fn block_input(&self) -> Tensor {
        Tensor { kept: Kept::BlockInput, ..self.hidden("block input") }
    }

    /// The gradient of the residual stream.
    pub fn residual_gradient(&self) -> Tensor {
        self.alive("gradient of the residual stream", self.local(), self.h())
    }

    /// The gradient of an operation's input.
    pub fn gradient_of_input(&self, rows: Rows, columns: Dim) -> Tensor {
        self.alive("gradient of the input", rows, columns)
    }

    /// The tensor that sequence parallelism gathers for the weight's gradient.
    pub fn gathered(&self, name: &'static str) -> Option<Tensor> {
        self.splits_tokens().then(|| self.alive(name, self.all(), self.h()))
    }

    /// The weight's gradient where the matrix product does not add it to the main gradient itself;
    /// of experts, all those of a grouped product exist at once, otherwise one expert's.
    pub fn weight_gradient(&self, part: &Linear) -> Option<Tensor> {
        let Linear { experts, columns, depth, .. } = *part;
        let gradient = |name, dims| Tensor {
            shape: dims,
            ..tensor(name, Role::Workspace, [columns, depth], self.parameter)
        };
        let fused =
            self.options().gradient_accumulation_fusion && self.options().transformer_engine;
        let apart = !fused && !self.run.tuning.freezes_model();
        let one = || gradient("gradient of the weight", Shape::of([columns, depth]));
        let all = |experts| {
            gradient("gradients of the expert weights", Shape::of([experts, columns, depth]))
        };
        apart.then(|| experts.filter(|_| self.options().moe_grouped_gemm).map_or_else(one, all))
    }

    /// A scale for each column of a norm, and a bias in a layer norm.
    pub fn norm_weights(&self, width: Dim) -> impl Iterator<Item = Tensor> {
        self.of_norm(["norm weight", "norm bias"]).map(move |name| self.weight(name, [width]))
    }

    /// One fp32 value per row that a norm saves beside its input, two with a mean.
    pub fn statistics<const N: usize>(&self, rows: [Dim; N]) -> impl Iterator<Item = Tensor> {
        self.of_norm(["norm statistic", "norm mean"])
            .map(move |name| tensor(name, Role::Saved, rows, DType::Fp32))
    }

    fn of_norm(&self, names: [&'static str; 2]) -> impl Iterator<Item = &'static str> {
        let count =
            if matches!(self.model.normalization, Normalization::LayerNorm) { 2 } else { 1 };
        names.into_iter().take(count)
    }

    /// A saved tensor that selective recomputation of a module does without.
    pub fn droppable(&self, tensor: Tensor, module: Module) -> Tensor {
        if self.run.recompute == Recompute::Selective
            && module.is_among(&self.options().recompute_modules)
        {
            Tensor { kept: Kept::AttentionCore, ..tensor }
        } else {
            tensor
        }
    }
}

/// Tokens by their first two dimensions: those of a sequence and sequences, or those of experts.
pub(super) type Rows = [Dim; 2];

/// How many there are.
pub(super) const fn count([first, second]: Rows) -> u64 {
    first.1.saturating_mul(second.1)
}

/// A tensor of a rank.
pub(super) fn tensor<const N: usize>(
    name: &'static str,
    role: Role,
    dims: [Dim; N],
    dtype: DType,
) -> Tensor {
    Tensor { name, role, shape: Shape::of(dims), dtype, split: Split::Rank, kept: Kept::Block }
}

/// An operation without FLOPs of its own: those are counted for the whole model.
pub(super) fn step(name: &'static str, module: Module) -> RankOp {
    let source: Source = match module {
        Module::Moe | Module::MoeActivation | Module::SharedExperts => sources::MEGATRON_CORE,
        Module::Rest | Module::CoreAttention | Module::Norm | Module::LatentUp | Module::Mlp => {
            sources::TRANSFORMER_ENGINE
        }
    };
    let op = Op { name, attention_core: module == Module::CoreAttention, source, ..Op::NONE };
    RankOp { op, module, costs: Vec::new() }
}

/// Tensors and costs of an operation.
impl RankOp {
    /// Further tensors.
    pub(super) fn with(mut self, tensors: impl IntoIterator<Item = Tensor>) -> Self {
        self.op.tensors.extend(tensors);
        self
    }

    /// A product: once in forward, twice in backward, once there where its weight is frozen.
    /// Operands of narrow ones are cast beforehand.
    pub(super) fn multiplies(mut self, product: Product, rank: &Rank) -> Self {
        let [rows, other] = product.backward();
        self.costs.push(PassWork { backward: false, work: Work::Product(product) });
        self.costs.push(PassWork { backward: true, work: Work::Product(rows) });
        let frozen = other.of == Operands::Gradient && rank.run.tuning.freezes_model();
        self.costs
            .extend((!frozen).then_some(PassWork { backward: true, work: Work::Product(other) }));
        match rank.run.products {
            ProductFormat::Narrow(format) if product.narrow => {
                self.streams([product.cast(format), rows.cast(format)], [1, 1])
            }
            ProductFormat::Narrow(_) | ProductFormat::Activations => self,
        }
    }

    /// A product with a matrix that learns beside frozen ones.
    pub(super) fn learns(mut self, product: Product) -> Self {
        let works = [product].into_iter().chain(product.backward());
        self.costs.extend(
            works
                .enumerate()
                .map(|(place, work)| PassWork { backward: place > 0, work: Work::Product(work) }),
        );
        self
    }

    /// Bytes that stream through memory, as sums of tensors: forward, backward, and the kernels
    /// they take.
    pub(super) fn streams(mut self, bytes: [u64; 2], kernels: [u64; 2]) -> Self {
        for (backward, (bytes, kernels)) in
            [false, true].into_iter().zip(bytes.into_iter().zip(kernels))
        {
            self.costs.push(PassWork { backward, work: Work::Stream { bytes, kernels } });
        }
        self
    }

    /// Norms over pieces of so many bytes together: fused, each reads and writes its piece once,
    /// and backward reads the gradient and the input and writes a gradient.
    pub(super) fn norms(self, bytes: u64, count: u64) -> Self {
        self.streams([bytes.saturating_mul(2), bytes.saturating_mul(3)], [count, 2 * count])
    }

    /// The norm of the residual stream: in backward its gradient is added to the one beside, both
    /// are read and one is written.
    pub(super) fn norms_hidden(self, rank: &Rank) -> Self {
        let piece = rank.hidden_bytes();
        self.streams([piece.saturating_mul(2), piece.saturating_mul(6)], [1, 3])
    }

    /// Fused attention.
    pub(super) fn attends(mut self, core: Core) -> Self {
        self.costs
            .extend([false, true].map(|backward| PassWork { backward, work: Work::Core(core) }));
        self
    }

    /// Messages.
    pub(super) fn sends(mut self, messages: impl IntoIterator<Item = PassWork>) -> Self {
        self.costs.extend(messages);
        self
    }
}

impl Rank<'_> {
    /// How many of a rank's experts are multiplied beside each other: `TEGroupedMLP` has its
    /// streams, `SequentialMLP` takes one after the other, the grouped product of PyTorch is one
    /// kernel.
    pub fn experts_at_once(&self, count: u64) -> u64 {
        match (self.options().transformer_engine, self.options().moe_grouped_gemm) {
            (true, true) => GROUPED_STREAMS.min(count),
            (true, false) => 1,
            (false, _) => count,
        }
    }

    /// Messages of `[tokens, hidden_size]` among tensor ranks, in backward or not: where tokens are
    /// split, and where they are not.
    pub fn among_tensor_ranks<const N: usize>(
        &self,
        split: [Message; N],
        whole: Message,
    ) -> Vec<PassWork> {
        self.messages(self.model.hidden_size, split, whole)
    }

    /// Messages as in [`Self::among_tensor_ranks`], for rows of another width.
    pub fn messages<const N: usize>(
        &self,
        width: u64,
        split: [Message; N],
        whole: Message,
    ) -> Vec<PassWork> {
        let bytes = self.bytes(count(self.all()).saturating_mul(width));
        let cost = |(collective, backward, behind): &Message| {
            let exchange = Exchange {
                collective: *collective,
                group: ProcessGroup::Tensor,
                bytes,
                behind: *behind,
            };
            PassWork { backward: *backward, work: Work::Exchange(exchange) }
        };
        let messages = if self.splits_tokens() { &split[..] } else { std::slice::from_ref(&whole) };
        messages.iter().filter(|_| self.t() > 1).map(cost).collect()
    }

    /// Messages that a column-parallel product waits for: its input gathered, its input's gradient
    /// summed over the ranks.
    pub fn column_messages(&self) -> Vec<PassWork> {
        let behind = if self.run.overlap.products { Behind::Products } else { Behind::Nothing };
        let gradient =
            if self.run.overlap.weight_gradient { Behind::WeightGradient } else { Behind::Nothing };
        let [first, second] =
            [(Collective::AllGather, false, behind), (Collective::ReduceScatter, true, gradient)];
        let whole = (Collective::AllReduce, true, gradient);
        if self.run.tuning.freezes_model() {
            return self.among_tensor_ranks([first, second], whole);
        }
        // The input is gathered again for the weight's gradient, while the input's gradient is
        // computed.
        self.among_tensor_ranks([first, second, (Collective::AllGather, true, gradient)], whole)
    }

    /// Messages that a row-parallel product ends with: its parts summed.
    pub fn row_messages(&self) -> Vec<PassWork> {
        let behind = if self.run.overlap.products { Behind::Products } else { Behind::Nothing };
        let split =
            [(Collective::ReduceScatter, false, behind), (Collective::AllGather, true, behind)];
        self.among_tensor_ranks(split, (Collective::AllReduce, false, Behind::Nothing))
    }
}
