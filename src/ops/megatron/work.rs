//! What an operation costs in time: matrix products by their shapes, bytes that pass through memory, messages between ranks.
//!
//! Work stands on the step whose tensors it moves, and a product is read off the parameter it multiplies with, so that sizes are
//! written down once. How long work takes is the estimator's business.

use super::{Rank, Step};
use crate::config::{Normalization, ProductFormat};
use crate::ops::tensor::{Dim, Role, Tensor};

/// One matrix product, or several alike: `rows × depth` times `depth × columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// How many alike: experts of a rank, heads of a micro-batch.
    pub count: u64,
    /// How many of these run beside each other: all of a batch; of experts, as many as there are streams.
    pub at_once: u64,
    /// Rows of the first operand: tokens.
    pub rows: u64,
    /// Columns of the result.
    pub columns: u64,
    /// What is summed over.
    pub depth: u64,
    /// Whether one operand is a weight: its gradient is added to the main gradient, and low-precision formats apply.
    pub weight: bool,
    /// Whether the format of products below 16 bit applies.
    pub narrow: bool,
}

impl Product {
    /// Multiplications and additions of one pass.
    pub fn flops(&self) -> f64 {
        let to = crate::units::to_f64;
        2.0 * to(self.count) * to(self.rows) * to(self.columns) * to(self.depth)
    }

    /// How often the machine is filled anew, until all of them have run.
    pub const fn turns(&self) -> u64 {
        self.count.div_ceil(if self.at_once == 0 { 1 } else { self.at_once })
    }

    /// The products of backward: the gradient of the rows, and of the other operand.
    pub const fn backward(&self) -> [Self; 2] {
        [
            Self { columns: self.depth, depth: self.columns, weight: false, ..*self },
            Self { rows: self.columns, columns: self.depth, depth: self.rows, ..*self },
        ]
    }
}

/// Attention whose scores stay on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Sequences times query heads of this rank.
    pub heads: u64,
    /// Pairs of query and key that are not masked, of one head: all ranks of the context group share them out evenly.
    pub pairs: u64,
    /// Queries of a sequence on this rank.
    pub queries: u64,
    /// Tokens of a text, which decide how full the kernel's pipeline is.
    pub seq_length: u64,
    /// Width of a query or key head.
    pub query_width: u64,
    /// Width of a value head.
    pub value_width: u64,
}

impl Core {
    /// Multiplications and additions of forward: scores, and values.
    pub fn flops(&self) -> f64 {
        let to = crate::units::to_f64;
        2.0 * to(self.heads) * to(self.pairs) * to(self.query_width.saturating_add(self.value_width))
    }
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Every rank ends with the sum.
    AllReduce,
    /// Every rank ends with all parts.
    AllGather,
    /// Every rank ends with its part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every other.
    AllToAll,
    /// Keys and values go round a ring, a part at each step of attention.
    Ring,
}

/// Ranks that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Tensor-parallel ranks.
    Tensor,
    /// Context-parallel ranks.
    Context,
    /// Expert-parallel ranks.
    Expert,
    /// Ranks that split one expert.
    ExpertTensor,
}

/// What a message may hide behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behind {
    /// Nothing: what follows waits for it.
    Nothing,
    /// The product of the weight's gradient of the same step.
    WeightGradient,
    /// The product of the same step, piece by piece (user buffers of Transformer Engine).
    Products,
    /// Attention of the same step.
    Attention,
}

/// A message among ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Which operation.
    pub collective: Collective,
    /// Among whom.
    pub group: Group,
    /// The whole buffer, bytes: what every rank ends with (gather), begins with (reduce, all-to-all).
    pub bytes: u64,
    /// Whether it is in backward.
    pub backward: bool,
    /// What it may hide behind.
    pub behind: Behind,
}

/// Work of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// A matrix product: once in forward, twice in backward.
    Product(Product),
    /// Fused attention.
    Core(Core),
    /// Bytes read and written by operators that only stream, and how many kernels they are.
    Stream {
        /// Bytes in forward and in backward.
        bytes: [u64; 2],
        /// Kernels in forward and in backward.
        kernels: [u64; 2],
    },
    /// A message.
    Exchange(Exchange),
}

impl Step {
    /// Every matrix among the step's parameters multiplies so many rows; of experts, all of them together.
    pub(super) fn over(mut self, rank: &Rank, rows: u64) -> Self {
        let matrices = self.op.tensors.iter().filter(|tensor| tensor.role == Role::Parameter);
        let products: Vec<Product> = matrices.filter_map(|tensor| product(tensor, rows, rank)).collect();
        for product in products {
            self.work.push(Work::Product(product));
            self = self.casts(rank, &product);
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

    /// A product without a parameter of its own.
    pub(super) fn multiplies(mut self, product: Product) -> Self {
        self.work.push(Work::Product(product));
        self
    }

    /// Bytes that stream through memory, as sums of tensors: forward, backward, and the kernels they take.
    pub(super) fn streams(mut self, bytes: [u64; 2], kernels: [u64; 2]) -> Self {
        self.work.push(Work::Stream { bytes, kernels });
        self
    }

    /// Fused attention.
    pub(super) fn attends(mut self, core: Core) -> Self {
        self.work.push(Work::Core(core));
        self
    }

    /// A message.
    pub(super) fn sends(mut self, exchange: Option<Exchange>) -> Self {
        self.work.extend(exchange.map(Work::Exchange));
        self
    }

    /// Operands of narrow products are cast beforehand: 16 bit read, a copy in rows and one in columns written; with one scale per
    /// tensor the largest value is looked for first. The input of a product behind a norm is written narrow by the norm.
    fn casts(self, rank: &Rank, product: &Product) -> Self {
        let ProductFormat::Narrow(format) = rank.products else { return self };
        if !product.narrow {
            return self;
        }
        let to_read = if format.scales_whole_tensors() { 4 } else { 2 };
        let written = 2 * format.bits().div_ceil(8);
        let each = to_read + written;
        let input = product.count.saturating_mul(product.rows).saturating_mul(product.depth).saturating_mul(each);
        let gradient = product.count.saturating_mul(product.rows).saturating_mul(product.columns).saturating_mul(each);
        self.streams([input, gradient], [1, 1])
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
    Some(Product { count, at_once: rank.experts_at_once(count), rows, columns, depth, weight: true, narrow })
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

    /// Bytes and kernels of a norm over a piece of that many bytes: fused, it reads and writes it once, and backward reads the
    /// gradient and the input and writes a gradient. transformers' RMSNorm is written out: to fp32, square, mean, scale, back,
    /// weight; each reads and writes.
    pub(super) fn norm_stream(&self, bytes: u64) -> ([u64; 2], [u64; 2]) {
        let written_out = self.written_out && matches!(self.model.normalization, Normalization::RmsNorm);
        if written_out {
            // fp32 copies count twice: 2+4, 4+4, 4, 4+4, 4+2, 2+2 bytes for each two in forward.
            return ([bytes.saturating_mul(18), bytes.saturating_mul(30)], [6, 12]);
        }
        ([bytes.saturating_mul(2), bytes.saturating_mul(3)], [1, 2])
    }

    /// The sum of two gradients of the residual stream: both are read, one is written.
    pub(super) fn gradient_sum(&self) -> u64 {
        self.hidden_bytes().saturating_mul(3)
    }

    /// A message of `[tokens, hidden_size]` among tensor ranks.
    pub(super) fn tensor_message(&self, collective: Collective, backward: bool, behind: Behind) -> Option<Exchange> {
        let bytes = self.bytes(self.tokens().saturating_mul(self.model.hidden_size));
        (self.t() > 1).then_some(Exchange { collective, group: Group::Tensor, bytes, backward, behind })
    }

    /// What a column-parallel product waits for: its input gathered, its input's gradient summed over the ranks.
    pub(super) fn column_messages(&self) -> [Option<Exchange>; 3] {
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
    pub(super) fn row_messages(&self) -> [Option<Exchange>; 2] {
        let behind = if self.overlap.products { Behind::Products } else { Behind::Nothing };
        if !self.splits_tokens() {
            return [self.tensor_message(Collective::AllReduce, false, Behind::Nothing), None];
        }
        [self.tensor_message(Collective::ReduceScatter, false, behind), self.tensor_message(Collective::AllGather, true, behind)]
    }

    /// Pairs of query and key of one head in a sequence of `full` tokens that a causal mask leaves, averaged over layers: a sliding
    /// layer looks back on its window only.
    pub(super) fn pairs(&self, full: u64) -> u64 {
        let triangle = |window: u64| {
            let window = window.min(full);
            full.saturating_mul(window).saturating_sub(window.saturating_mul(window.saturating_sub(1)) / 2)
        };
        let all = triangle(full);
        let Some(window) = self.model.sliding_window else { return all };
        let layers = self.model.num_hidden_layers.max(1);
        let sliding = (0..layers).filter(|layer| self.model.sliding_layers.contains(*layer)).count();
        let sliding = u64::try_from(sliding).unwrap_or(layers);
        (triangle(window).saturating_mul(sliding).saturating_add(all.saturating_mul(layers.saturating_sub(sliding)))) / layers
    }
}
