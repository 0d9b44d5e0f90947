//! The costs in time of a training, kernel by kernel: matrix products by their shapes, attention,
//! bytes that pass through memory, messages between ranks. How long they take is the estimator's
//! business.

use crate::config::{ModelConfig, Narrow};

/// One matrix product, or several alike: `rows × depth` times `depth × columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// How many alike: experts of a rank, heads of a micro-batch.
    pub count: u64,
    /// How many of these run beside each other: all of a batch; of experts, as many as there are
    /// streams.
    pub at_once: u64,
    /// Rows of the first operand: tokens.
    pub rows: u64,
    /// Columns of the result.
    pub columns: u64,
    /// The length that is summed over.
    pub depth: u64,
    /// The sizes that it multiplies.
    pub of: Operands,
    /// True if the format of products below 16 bit applies.
    pub narrow: bool,
}

impl Product {
    /// Returns the FLOPs of one pass: `2 · count · rows · columns · depth`.
    pub fn flops(&self) -> f64 {
        let to = crate::units::to_f64;
        2.0 * to(self.count) * to(self.rows) * to(self.columns) * to(self.depth)
    }

    /// Returns how often the machine is filled anew, until all of them have run: `⌈count /
    /// at_once⌉`.
    pub const fn turns(&self) -> u64 {
        self.count.div_ceil(if self.at_once == 0 { 1 } else { self.at_once })
    }

    /// Returns the products of backward: the gradient of the rows, and of the other operand.
    pub const fn backward(&self) -> [Self; 2] {
        [
            Self { columns: self.depth, depth: self.columns, ..*self },
            Self {
                rows: self.columns,
                columns: self.depth,
                depth: self.rows,
                of: self.of.in_backward(),
                ..*self
            },
        ]
    }

    /// Returns the bytes that the cast of its rows to that format reads and writes: 16 bit read, a
    /// copy in rows and one in columns written; with one scale per tensor the largest value is
    /// looked for first.
    ///
    /// The input of a product behind a norm is written narrow by the norm.
    pub fn cast(&self, format: Narrow) -> u64 {
        let to_read = if format.scales_whole_tensors() { 4 } else { 2 };
        let each = to_read + 2 * format.bits().div_ceil(8);
        self.count.saturating_mul(self.rows).saturating_mul(self.depth).saturating_mul(each)
    }
}

/// Operands of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Activations, or their gradients, with a weight.
    Weight,
    /// Activations with gradients: the result is a weight's gradient, which is added to the main
    /// gradient.
    Gradient,
    /// Activations with each other.
    Activations,
}

impl Operands {
    /// The operands of backward's second product.
    const fn in_backward(self) -> Self {
        match self {
            Self::Weight | Self::Gradient => Self::Gradient,
            Self::Activations => Self::Activations,
        }
    }
}

/// Attention whose scores stay on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Sequences times query heads of this rank.
    pub heads: u64,
    /// Pairs of query and key that are not masked, of one head: all ranks of the context group
    /// share them out evenly.
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
    /// Returns the FLOPs of forward, scores and values: `2 · heads · pairs · (query width + value
    /// width)`.
    pub fn flops(&self) -> f64 {
        let to = crate::units::to_f64;
        2.0 * to(self.heads)
            * to(self.pairs)
            * to(self.query_width.saturating_add(self.value_width))
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
pub enum ProcessGroup {
    /// Tensor-parallel ranks.
    Tensor,
    /// Context-parallel ranks.
    Context,
    /// Expert-parallel ranks.
    Expert,
    /// Ranks that split one expert.
    ExpertTensor,
}

/// The work that a message may hide behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behind {
    /// Nothing: the operations that follow wait for it.
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
    pub group: ProcessGroup,
    /// The whole buffer, bytes: what every rank ends with (gather), begins with (reduce,
    /// all-to-all).
    pub bytes: u64,
    /// The work that it may hide behind.
    pub behind: Behind,
}

/// The work of one kernel or message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// A matrix product.
    Product(Product),
    /// Fused attention.
    Core(Core),
    /// Bytes read and written by operators that only stream, and how many kernels they are.
    Stream {
        /// Bytes.
        bytes: u64,
        /// Kernels.
        kernels: u64,
    },
    /// A message.
    Exchange(Exchange),
}

/// Work in forward or in backward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassWork {
    /// True if the work is in backward.
    pub backward: bool,
    /// The kind of work.
    pub work: Work,
}

/// Pairs of query and key of one head in a sequence of `full` tokens that the mask leaves, averaged
/// over layers: a sliding layer looks back on its window only. An encoder leaves all of them.
fn pairs(model: &ModelConfig, full: u64) -> u64 {
    let causal = model.is_causal();
    let triangle = |window: u64| {
        let window = window.min(full);
        if !causal {
            return full.saturating_mul(window);
        }
        full.saturating_mul(window)
            .saturating_sub(window.saturating_mul(window.saturating_sub(1)) / 2)
    };
    let all = triangle(full);
    let Some(window) = model.sliding_window else { return all };
    let layers = model.num_hidden_layers.max(1);
    let sliding = (0..layers).filter(|layer| model.sliding_layers.contains(*layer)).count();
    let sliding = u64::try_from(sliding).unwrap_or(layers);
    let near = if causal { model.pairs_of_sliding(full) } else { triangle(window) };
    (near
        .saturating_mul(sliding)
        .saturating_add(all.saturating_mul(layers.saturating_sub(sliding))))
        / layers
}

/// Pairs of query and key that one head sees in a sequence of that length, and the tokens of a
/// text: whole texts, and the part of one that is cut.
pub(super) fn sight(model: &ModelConfig, seq_length: u64, packed_text: Option<u64>) -> (u64, u64) {
    let text = packed_text.unwrap_or(seq_length).clamp(1, seq_length.max(1));
    let whole = (seq_length / text).saturating_mul(pairs(model, text));
    (whole.saturating_add(pairs(model, seq_length % text)), text)
}
