//! Records of the tape: memory that it takes, parameters, their uses and gradients.

use crate::ops::tape::flops::FACTORS;
use crate::ops::tape::state::Kind;
use crate::ops::tape::{Form, Order, Param};
use crate::sources::Source;
use crate::units::DType;

/// How parameters are shared out among ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shards {
    pub ranks: u64,
    /// Format of the part that a rank keeps.
    pub dtype: DType,
    pub cut: Cut,
}

/// Where parameters are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Each along its first dimension.
    Rows,
    /// Parameters of a layer lie side by side, each at a multiple of `align` elements, and ranks
    /// have equal parts of the whole; the first rank's parts are counted. Parameters of layer
    /// `head` lie behind those of layer 0; without such a layer, all layers are one vector.
    Flat { head: Option<u16>, align: u64 },
}

/// How a gradient that has reached its parameter is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The gradient is kept as it is.
    #[default]
    Kept,
    /// The parameter is updated at once, and the gradient is freed.
    Stepped,
    /// The gradient is added to one of that format, and to an fp32 copy where there is one.
    Converted(DType, Option<DType>),
    /// The gradient waits until those of its group are reduced.
    Pending {
        /// In the format in which backward makes it, instead of its parameter's.
        as_made: bool,
    },
}

/// Which part of the step runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum When {
    /// Before the step: parameters and tables.
    #[default]
    Before,
    /// Forward.
    Forward,
    /// Backward.
    Backward,
    /// Gradients of all micro-batches are reduced behind them.
    Reduction,
    /// The optimizer's step.
    Step,
}

/// One piece of memory.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub bytes: u64,
    pub refs: u32,
    pub kind: Kind,
    /// The kind it was taken as.
    pub born: Kind,
    pub dtype: DType,
    pub form: Form,
    pub op: u16,
    /// The operation that took it, whatever it was kept for later.
    pub taken_in: u16,
    pub layer: u16,
    /// The stream that it is used on, as [`State::stream`].
    pub stream: u8,
    pub name: &'static str,
    /// Its place among tensors that are fused away, or [`NONE`].
    pub fusion: u32,
}

/// One parameter.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// The storage of the part that this rank keeps.
    pub storage: u32,
    /// The storage that modules read: `storage`, or [`NONE`] where the parameter is gathered with
    /// its group.
    pub read: u32,
    pub form: Form,
    /// Format in which modules read it.
    pub dtype: DType,
    /// Elements this rank keeps, and those of the whole with the padding of uneven shares.
    pub kept: u64,
    pub padded: u64,
    /// Its gradient, or [`NONE`].
    pub gradient: u32,
    /// Its further fp32 gradient, or [`NONE`].
    pub copy: u32,
    /// Gradients that reached it in this backward and are not yet added up.
    pub waiting: Option<Grad>,
    /// How often forward used it, less how often backward has come back.
    pub uses: u32,
    /// True if no gradient ever reaches the parameter, so that it has no optimizer states either.
    pub idle: bool,
    /// True if the parameter wants no gradient, so that modules read it as a constant.
    pub frozen: bool,
    /// True if the parameter only describes another one, as scales of quantised weights do.
    pub beside: bool,
    /// True if it is gathered in float8.
    pub narrow: bool,
    /// True if blocks of several layers have it together.
    pub shared: bool,
    pub layer: u16,
}

/// A moment at which a module needs a parameter whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub param: Param,
    /// Where in the log it begins.
    pub from: usize,
    /// Where it ends, if that is in backward; forward's ends with the module's output.
    pub until: Option<usize>,
    pub layer: u16,
}

/// The name of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpName {
    pub name: &'static str,
    pub source: Source,
    /// FLOPs of forward, by the kind of factors that are multiplied.
    pub forward: [f64; FACTORS],
}

/// A gradient on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grad {
    pub storage: u32,
    pub form: Form,
    pub dtype: DType,
    pub order: Order,
    /// True if the gradient sees memory that another tensor keeps alive, as every view does.
    pub is_view: bool,
}
