//! What Megatron-LM's operations cost: each product is read off the parameter it multiplies with, so that sizes are written down once.

use super::{Rank, Step};
use crate::config::ProductFormat;
use crate::ops::tensor::{Dim, Role, Tensor};
use crate::ops::work::{Behind, Collective, Core, Cost, Exchange, Group, Operands, Product, Work};

impl Step {
    /// Every matrix among the step's parameters multiplies so many rows; of experts, all of them together.
    pub(super) fn over(mut self, rank: &Rank, rows: u64) -> Self {
        let matrices = self.op.tensors.iter().filter(|tensor| tensor.role == Role::Parameter);
        let products: Vec<Product> = matrices.filter_map(|tensor| product(tensor, rows, rank)).collect();
        for product in products {
            self = self.multiplies(product, rank);
        }
        self.bias_gradients(rank, rows)
    }

    /// The gradient of a bias is a sum over rows; Transformer Engine's products make it on the side, PyTorch's read the gradient again.
    fn bias_gradients(self, rank: &Rank, rows: u64) -> Self {
        if rank.options.transformer_engine {
            return self;
        }
        let biases = self.op.tensors.iter().filter(|tensor| tensor.role == Role::Parameter && tensor.name.ends_with("bias"));
        let widths = biases.filter(|tensor| tensor.name != "norm bias").filter_map(|tensor| tensor.shape.dims().last());
        let (width, count) = widths.fold((0_u64, 0), |(sum, count), dim| (sum.saturating_add(dim.1), count + 1));
        self.streams([0, rank.bytes(rows.saturating_mul(width))], [0, count])
    }

    /// A product: once in forward, twice in backward, once there where its weight is frozen. Operands of narrow ones are cast beforehand.
    pub(super) fn multiplies(mut self, product: Product, rank: &Rank) -> Self {
        let [rows, other] = product.backward();
        self.costs.push(Cost { backward: false, work: Work::Product(product) });
        self.costs.push(Cost { backward: true, work: Work::Product(rows) });
        let frozen = other.of == Operands::Gradient && rank.frozen;
        self.costs.extend((!frozen).then_some(Cost { backward: true, work: Work::Product(other) }));
        match rank.products {
            ProductFormat::Narrow(format) if product.narrow => self.streams([product.cast(format), rows.cast(format)], [1, 1]),
            ProductFormat::Narrow(_) | ProductFormat::Activations => self,
        }
    }

    /// Bytes that stream through memory, as sums of tensors: forward, backward, and the kernels they take.
    pub(super) fn streams(mut self, bytes: [u64; 2], kernels: [u64; 2]) -> Self {
        for (backward, (bytes, kernels)) in [false, true].into_iter().zip(bytes.into_iter().zip(kernels)) {
            self.costs.push(Cost { backward, work: Work::Stream { bytes, kernels } });
        }
        self
    }

    /// Fused attention.
    pub(super) fn attends(mut self, core: Core) -> Self {
        self.costs.extend([false, true].map(|backward| Cost { backward, work: Work::Core(core) }));
        self
    }

    /// A message.
    pub(super) fn sends(mut self, message: Option<Cost>) -> Self {
        self.costs.extend(message);
        self
    }
}

/// The product a parameter stands for: `[columns, depth]`, or `[experts, columns, depth]`.
fn product(tensor: &Tensor, rows: u64, rank: &Rank) -> Option<Product> {
    let dims: Vec<&Dim> = tensor.shape.dims().collect();
    let (count, columns, depth) = match dims.as_slice() {
        [columns, depth] if !tensor.name.ends_with("biases") => (1, columns.1, depth.1),
        [experts, columns, depth] => (experts.1, columns.1, depth.1),
        _ => return None,
    };
    let narrow = tensor.name != "router weight";
    let rows = rows.div_ceil(count.max(1));
    Some(Product { count, at_once: rank.experts_at_once(count), rows, columns, depth, of: Operands::Weight, narrow })
}

/// Streams over which Transformer Engine deals out the products of experts, one product each (`multi_stream_cublas_gemm` in
/// `transformer_engine/common/gemm/cublaslt_gemm.cu`, `num_compute_streams` in `transformer_engine/multi_stream.h`).
pub const GROUPED_STREAMS: u64 = 4;

impl Rank<'_> {
    /// How many of a rank's experts are multiplied beside each other: `TEGroupedMLP` has its streams, `SequentialMLP` takes one after the
    /// other, the grouped product of PyTorch is one kernel.
    fn experts_at_once(&self, count: u64) -> u64 {
        match (self.options.transformer_engine, self.options.moe_grouped_gemm) {
            (true, true) => GROUPED_STREAMS.min(count),
            (true, false) => 1,
            (false, _) => count,
        }
    }

    /// Bytes of so many activations.
    pub(super) fn bytes(&self, elements: u64) -> u64 {
        elements.saturating_mul(self.activation.bits()).div_ceil(8)
    }

    /// Bytes of one piece of the residual stream.
    pub(super) fn hidden_bytes(&self) -> u64 {
        self.bytes(self.local_tokens().saturating_mul(self.model.hidden_size))
    }

    /// Tokens that attention and feed-forward see.
    pub(super) const fn tokens(&self) -> u64 {
        self.seq_length.saturating_mul(self.micro_batch_size)
    }

    /// Tokens outside them.
    pub(super) const fn local_tokens(&self) -> u64 {
        self.local_s().1.saturating_mul(self.micro_batch_size)
    }

    /// Bytes and kernels of a norm over a piece of that many bytes: fused, it reads and writes it once, and backward reads the gradient
    /// and the input and writes a gradient.
    pub(super) const fn norm_stream(bytes: u64) -> ([u64; 2], [u64; 2]) {
        ([bytes.saturating_mul(2), bytes.saturating_mul(3)], [1, 2])
    }

    /// The sum of two gradients of the residual stream: both are read, one is written.
    pub(super) fn gradient_sum(&self) -> u64 {
        self.hidden_bytes().saturating_mul(3)
    }

    /// A message of `[tokens, hidden_size]` among tensor ranks.
    pub(super) fn tensor_message(&self, collective: Collective, backward: bool, behind: Behind) -> Option<Cost> {
        let bytes = self.bytes(self.tokens().saturating_mul(self.model.hidden_size));
        let exchange = Exchange { collective, group: Group::Tensor, bytes, behind };
        (self.t() > 1).then_some(Cost { backward, work: Work::Exchange(exchange) })
    }

    /// What a column-parallel product waits for: its input gathered, its input's gradient summed over the ranks.
    pub(super) fn column_messages(&self) -> [Option<Cost>; 3] {
        let overlap = self.overlap;
        let behind = if overlap.products { Behind::Products } else { Behind::Nothing };
        let gradient = if overlap.weight_gradient { Behind::WeightGradient } else { Behind::Nothing };
        if !self.splits_tokens() {
            return [None, self.tensor_message(Collective::AllReduce, true, gradient), None];
        }
        [
            self.tensor_message(Collective::AllGather, false, behind),
            self.tensor_message(Collective::ReduceScatter, true, gradient),
            // The input is gathered again for the weight's gradient, while the input's gradient is computed.
            self.tensor_message(Collective::AllGather, true, gradient),
        ]
    }

    /// What a row-parallel product ends with: its parts summed.
    pub(super) fn row_messages(&self) -> [Option<Cost>; 2] {
        let behind = if self.overlap.products { Behind::Products } else { Behind::Nothing };
        if !self.splits_tokens() {
            return [self.tensor_message(Collective::AllReduce, false, Behind::Nothing), None];
        }
        [self.tensor_message(Collective::ReduceScatter, false, behind), self.tensor_message(Collective::AllGather, true, behind)]
    }
}
