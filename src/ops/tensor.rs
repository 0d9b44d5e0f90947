//! Tensors and operations: the vocabulary of the operation list.

use crate::optimizers::UpdatedParameter;
use crate::sources::Source;
use crate::units::{Bytes, DType, Elements, Flops};

/// The name of the dimension that stands for a rank's experts.
pub const EXPERTS_OF_RANK: &str = "experts on this rank";

/// The name of the dimension that counts tensors of a vision tower which are alike.
const COPIES: &str = "copies";

/// The last word of the names of tables of embedded tokens and positions.
pub const EMBEDDING: &str = "embedding";

/// One named dimension of a shape, e.g. `("hidden_size", 4096)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim(pub &'static str, pub u64);

/// A shape of up to four named dimensions; unused places are `Dim("", 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape([Dim; 4]);

impl Shape {
    /// Returns a shape of one to four dimensions (further ones are not representable, which the
    /// type says).
    pub fn of<const N: usize>(dims: [Dim; N]) -> Self {
        const { assert!(N >= 1 && N <= 4) };
        let mut all = [Dim("", 1); 4];
        for (place, dim) in all.iter_mut().zip(dims) {
            *place = dim;
        }
        Self(all)
    }

    /// Returns true if `other` has equal dimensions with equal names. Names are compared by
    /// address, which is quick and at worst too strict.
    pub fn is(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a.1 == b.1 && std::ptr::eq(a.0, b.0))
    }

    /// A number that shapes which [are](Self::is) the same share, and others seldom.
    pub(crate) fn slot(&self) -> usize {
        let size = |dim: &Dim| usize::try_from(dim.1).unwrap_or(usize::MAX);
        let mix = |slot: usize, dim: &Dim| {
            slot.wrapping_mul(31).wrapping_add(dim.0.as_ptr().addr()).wrapping_add(size(dim))
        };
        self.0.iter().fold(0, mix) >> 3
    }

    /// The shape at other lengths: dimensions of these names have these sizes.
    fn at(mut self, lengths: &[Dim]) -> Self {
        for dim in &mut self.0 {
            if let Some(length) = lengths.iter().find(|length| length.0 == dim.0) {
                *dim = *length;
            }
        }
        self
    }

    /// Returns the dimensions that are used.
    pub fn dims(&self) -> impl Iterator<Item = &Dim> {
        self.0.iter().filter(|dim| !dim.0.is_empty())
    }

    /// Returns true if the tensor holds all of a rank's experts: they are its first dimension.
    pub fn is_of_experts(&self) -> bool {
        self.0[0].0 == EXPERTS_OF_RANK
    }

    /// Returns true if the shape counts tensors of a vision tower that are alike.
    pub fn is_of_copies(&self) -> bool {
        self.0[0].0 == COPIES
    }

    /// The shape as the first of tensors that are alike; it has three dimensions at most.
    pub(super) const fn counted(self) -> Self {
        let [first, second, third, _] = self.0;
        Self([Dim(COPIES, 1), first, second, third])
    }

    /// True if the shape counts tensors of the shape `one`.
    pub(super) fn counts(&self, one: &Self) -> bool {
        self.is_of_copies() && self.0[1..] == one.0[..3]
    }

    /// The shape with one tensor more.
    pub(super) const fn with_one_more(mut self) -> Self {
        self.0[0].1 = self.0[0].1.saturating_add(1);
        self
    }

    /// Returns a parameter of that shape as an optimizer sees it, of which there are so many.
    pub fn updated(&self, times: u64, in_block: bool) -> UpdatedParameter {
        let dimensions = self.dims().count();
        // Unused places come last.
        let last = |skip: usize| self.0.get(dimensions.checked_sub(skip)?).map(|dim| dim.1);
        let matrix = last(2).zip(last(1)).map(|(rows, columns)| [rows, columns]);
        UpdatedParameter {
            elements: self.elements().0,
            times,
            dimensions,
            matrix,
            in_block,
            is_embedding: false,
            own_format: None,
        }
    }

    /// Returns the number of elements: the product of all dimensions.
    pub fn elements(&self) -> Elements {
        Elements(self.0.iter().fold(1, |product: u64, dim| product.saturating_mul(dim.1)))
    }
}

/// The purpose of a tensor in its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A parameter.
    Parameter,
    /// Saved in forward for backward.
    Saved,
    /// Alive only while its operation runs.
    Workspace,
    /// Kept per token while serving.
    KvCache,
}

/// Over which ranks a tensor is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Every tensor-parallel rank holds all of it (split only under sequence parallelism, if it is
    /// an activation).
    Replicated,
    /// Split evenly over tensor-parallel ranks.
    Tensor,
    /// Not split further: the shape is this rank's own share already.
    Rank,
    /// Split by whole heads, of which there are that many; a rank holds at least one (copied where
    /// ranks outnumber heads).
    Heads(u64),
    /// Queries, keys and values of so many heads side by side; a rank holds whole heads of each.
    Joint {
        /// Query heads.
        heads: u64,
        /// Heads of keys, and as many of values.
        kv_heads: u64,
    },
}

/// Which recomputation brings a saved tensor back, so that it need not be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// Saved unless the whole block is recomputed.
    Block,
    /// Part of the attention core: not saved under selective or full recomputation.
    AttentionCore,
    /// The block's input: always saved.
    BlockInput,
    /// Outside the blocks: never recomputed.
    Always,
}

/// One tensor of an operation. Shapes are those of one tensor-parallel rank's *group*; `split` says
/// how ranks share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Short name, e.g. `queries`.
    pub name: &'static str,
    /// Purpose.
    pub role: Role,
    /// Named dimensions.
    pub shape: Shape,
    /// Format.
    pub dtype: DType,
    /// Splitting over tensor ranks.
    pub split: Split,
    /// Recomputation class (saved tensors only).
    pub kept: Kept,
}

impl Tensor {
    /// Returns the bytes of the whole tensor over all ranks of the tensor-parallel group.
    pub fn bytes(&self) -> Bytes {
        self.shape.elements().stored_as(self.dtype)
    }

    /// Returns the elements on the most loaded of `t` tensor-parallel ranks, rounded up; replicated
    /// activations are split only with `sequence_parallel`.
    ///
    /// Heads are dealt out whole: a rank has `⌈heads / t⌉` of them.
    pub fn elements_per_rank(&self, t: u64, sequence_parallel: bool) -> Elements {
        let elements = self.shape.elements().0;
        let activation = matches!(self.role, Role::Saved | Role::Workspace);
        match self.split {
            Split::Tensor => Elements(elements.div_ceil(t.max(1))),
            Split::Heads(heads) => {
                Elements((elements / heads.max(1)).saturating_mul(heads.div_ceil(t.max(1))))
            }
            Split::Joint { heads, kv_heads } => {
                let columns =
                    |heads: u64, kv_heads: u64| heads.saturating_add(kv_heads.saturating_mul(2));
                let rank = columns(heads.div_ceil(t.max(1)), kv_heads.div_ceil(t.max(1)));
                Elements((elements / columns(heads, kv_heads).max(1)).saturating_mul(rank))
            }
            Split::Replicated if activation && sequence_parallel => {
                Elements(elements.div_ceil(t.max(1)))
            }
            Split::Replicated | Split::Rank => Elements(elements),
        }
    }

    /// Returns the bytes on the most loaded of `t` tensor-parallel ranks.
    pub fn bytes_per_rank(&self, t: u64, sequence_parallel: bool) -> Bytes {
        self.elements_per_rank(t, sequence_parallel).stored_as(self.dtype)
    }
}

impl Op {
    /// The operation's tensors at other lengths, see
    /// [`Lowering::lengths`](super::Lowering::lengths); parameters and FLOPs stay behind.
    pub(super) fn at(&self, lengths: &[Dim]) -> Self {
        let tensors = self.tensors.iter().filter(|tensor| tensor.role != Role::Parameter);
        let tensors =
            tensors.map(|tensor| Tensor { shape: tensor.shape.at(lengths), ..*tensor }).collect();
        Self { tensors, forward: Flops(0.0), ..*self }
    }
}

/// One operation with everything the estimator asks of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// Name, e.g. `query, key and value projection`.
    pub name: &'static str,
    /// Parameters, saved tensors, workspace and cache.
    pub tensors: Vec<Tensor>,
    /// Floating-point operations of one forward pass over the micro-batch, all tensor ranks
    /// together.
    pub forward: Flops,
    /// FLOPs of its backward, without those of recomputation.
    pub backward: Flops,
    /// True for the attention core, which selective recomputation recomputes.
    pub attention_core: bool,
    /// Where this operation's memory is described.
    pub source: Source,
}

impl Op {
    /// An operation without a name that does nothing: what others are made from.
    pub(crate) const NONE: Self = Self {
        name: "",
        tensors: Vec::new(),
        forward: Flops(0.0),
        backward: Flops(0.0),
        attention_core: false,
        source: crate::sources::PYTORCH_AUTOGRAD,
    };
}
