//! Nodes of the autograd graph, and how each handles a gradient.

use super::over::Writes;
use super::scratch::Attends;
use super::state::{Grad, NONE};
use super::tuning::Packed;
use super::{Form, HeadAndLoss, Order, Tile};
use crate::config::Float8;
use crate::units::DType;

/// An autograd formula: how it hands on the gradient of a node's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Passes it on.
    Pass,
    /// Passes it on in the operand's shape; a copy where memory is in another order.
    View,
    /// Heads and tokens change places; memory stays.
    Swap,
    /// Passes it on to both operands, summed where one was broadcast.
    Add,
    /// As [`Rule::Add`], with the second operand's negated.
    Sub,
    /// Multiplies it with the other operand.
    Mul,
    /// Multiplies it with the conjugate of constant complex numbers.
    Times,
    /// `a / b`.
    Div,
    /// One tensor like the operand, after some temporaries; `elementwise` ones keep the gradient's
    /// order in memory.
    Unary { temporaries: u8, elementwise: bool },
    /// Temporaries and the result of a formula of several operators: what is taken (`n`) and freed
    /// (`-n`) in order; the last one taken is the result.
    Script(&'static [i8]),
    /// Sent between ranks, into so many tensors before the last.
    Exchanged(u8),
    /// As [`Rule::Unary`] after as many masks as that: a value kept within limits.
    Clamp(u8),
    /// A value kept below a constant: half of it where both are equal, none where it was larger.
    AtMost,
    /// The larger of two: half of it for each where both are equal, all of it for the larger.
    Larger,
    /// One of two by a condition: each gets it where it was chosen, and 0 elsewhere.
    Where,
    /// One of the parts of a split tensor: hands its gradient to the node before it.
    Part(u16),
    /// A tensor split in parts: joins their gradients.
    Split,
    /// Tokens by heads turned into heads by tokens: undone by a view, or a copy where memory is in
    /// the other order.
    Heads,
    /// Heads by tokens turned into tokens by heads.
    Merge,
    /// Seen in the operand's larger shape.
    Spread,
    /// Written over a part of a tensor.
    Fill,
    /// Added to a part of a tensor of that shape, in place.
    AddToPart(Form),
    /// The standard deviation of each row.
    Deviation,
    /// The variance of each row.
    Variance,
    /// Narrow views of it.
    Cat,
    /// A matrix product with a weight, and a bias.
    ///
    /// Under sequence parallelism the input is gathered into a tensor of that shape before, and
    /// again in backward.
    Linear { bias: bool, gathered: Option<Form> },
    /// A product of each group of rows with a weight of its own; groups have that shape.
    Grouped(Form),
    /// A convolution along tokens of each channel by itself.
    Convolution,
    /// A convolution of patches, each by itself.
    Patched,
    /// Written into the places of a mask.
    Scatter,
    /// Put over the values in the places of a mask, which a tensor of that shape lists.
    Put(Form),
    /// A triangular system solved for several right sides, whose gradient memory holds in that
    /// order.
    Solve(Order),
    /// A batched product of two activations.
    ///
    /// `batched`: of several sequences; `transposed`: the second operand is read in columns;
    /// `scaled`: each gradient is scaled.
    Matmul { batched: bool, transposed: bool, scaled: bool },
    /// `softmax(x)`.
    Softmax,
    /// Written into zeros of the operand's shape.
    IntoZeros,
    /// Added into zeros of the operand's shape, at the rows that an index of that shape names.
    AtRows(Form),
    /// Rows of a table, by the tokens of that shape.
    Embedding(Form),
    /// One new tensor per operand, in each operand's order in memory (kernels written by hand).
    Kernel { orders: [Order; 3], attends: Attends, writes: Writes },
    /// Turned in place, in memory of that order.
    Turned(Order),
    /// The tensors that were saved are the gradients.
    Saved,
    /// A head's product and its loss by tiles.
    Tiled(Tile),
    /// A head's product and its loss in one kernel.
    HeadAndLoss(HeadAndLoss),
    /// A product with a frozen weight of four bits.
    Packed(Packed),
    /// A product with a weight, both in float8.
    Float8(Float8),
    /// Keeps its gradient until the graph goes.
    Leaf,
}

/// One operand of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub node: u32,
    pub form: Form,
    pub dtype: DType,
}

impl Operand {
    pub const NOTHING: Self = Self { node: NONE, form: Form::MAX, dtype: DType::Fp32 };
}

/// Most tensors that one node saves.
const SAVED: usize = 8;

/// A node of the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub rule: Rule,
    pub operands: [Operand; 3],
    pub saved: [u32; SAVED],
    pub saves: u8,
    pub op: u16,
    pub layer: u16,
    pub frame: u32,
    /// True if it is part of a compiled graph.
    pub compiled: bool,
    pub grad: Option<Grad>,
}

impl Node {
    /// A node with nothing before it.
    pub const NOTHING: Self = Self {
        rule: Rule::Pass,
        operands: [Operand::NOTHING; 3],
        saved: [NONE; SAVED],
        saves: 0,
        op: 0,
        layer: 0,
        frame: NONE,
        compiled: false,
        grad: None,
    };
}
