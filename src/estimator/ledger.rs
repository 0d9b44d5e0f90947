//! The ledger: every line of memory on the most loaded rank, with its parts, source and certainty.

use crate::ops::Shape;
use crate::sources::Source;
use crate::units::{Bytes, DType, sort_short};

/// Kinds of memory, in the words of PyTorch's `MemTracker` plus cache and framework. Order =
/// stacking order in charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    /// Weights used by forward and backward.
    Parameter,
    /// Gradients.
    Gradient,
    /// Optimizer states, master weights included.
    OptimizerState,
    /// Saved for backward.
    Activation,
    /// Keys and values of served tokens.
    KvCache,
    /// Alive only during some operation: working set of a recomputed block, gathered weights,
    /// logits.
    Temporary,
    /// Framework context, reserves and overheads outside the model.
    Framework,
}

impl MemoryKind {
    /// All kinds in stacking order.
    pub const ALL: [Self; 7] = [
        Self::Parameter,
        Self::Gradient,
        Self::OptimizerState,
        Self::Activation,
        Self::KvCache,
        Self::Temporary,
        Self::Framework,
    ];

    /// Returns the position of the kind in [`Self::ALL`], and so in every array by kind.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name shown on the page, such as `Optimizer states`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameter => "Weights",
            Self::Gradient => "Gradients",
            Self::OptimizerState => "Optimizer states",
            Self::Activation => "Activations",
            Self::KvCache => "KV cache",
            Self::Temporary => "Temporary",
            Self::Framework => "Framework and reserve",
        }
    }
}

/// The first kind, in their order, with which a rank takes more than there is.
pub(super) fn first_over(kinds: &[Bytes; 7], capacity: Bytes) -> Option<MemoryKind> {
    let mut sum = Bytes::ZERO;
    let over = MemoryKind::ALL.into_iter().zip(kinds).find(|(_, bytes)| {
        sum += **bytes;
        sum > capacity
    });
    over.map(|(kind, _)| kind)
}

/// The most by kind of some stages; of equal ones the first, nothing of none.
pub(super) fn fullest(stages: impl Iterator<Item = [Bytes; 7]>) -> [Bytes; 7] {
    let total = |by_kind: &[Bytes; 7]| by_kind.iter().copied().sum::<Bytes>();
    stages
        .reduce(|best, other| if total(&other) > total(&best) { other } else { best })
        .unwrap_or([Bytes::ZERO; 7])
}

/// How sure a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// Shapes and formats alone decide the line, or the operations of the software one by one,
    /// which measured rows confirm to the byte.
    Exact,
    /// The line rests on a documented rule of how software behaves that no measured row confirms
    /// for this family, stack and layout.
    Modelled,
    /// A figure the user may set; an assumption.
    Assumed,
}

impl Certainty {
    /// Returns the word shown beside a line: `exact`, `heuristic` or `assumed`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Modelled => "heuristic",
            Self::Assumed => "assumed",
        }
    }
}

/// One tensor behind a line, or several alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorLine {
    /// The operation it belongs to.
    pub op: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Named dimensions of one tensor before splitting.
    pub shape: Shape,
    /// Format.
    pub dtype: DType,
    /// How many of them this rank holds (layers, micro-batches in flight).
    pub count: u64,
    /// Bytes on this rank, all of them together.
    pub bytes: Bytes,
}

/// Puts lines in the order of their kinds; lines of one kind stay in the order they came in.
pub(super) fn sort_by_kind(lines: &mut [LineItem]) {
    sort_short(lines, |a, b| a.kind < b.kind);
}

/// One item of memory on the most loaded rank.
#[derive(Clone, Debug, PartialEq)]
pub struct LineItem {
    /// Kind.
    pub kind: MemoryKind,
    /// Name of the line, e.g. `Adam first moment`.
    pub label: &'static str,
    /// Bytes on this rank.
    pub bytes: Bytes,
    /// Tensors behind it; empty where the line is not made of tensors. Their bytes add up to
    /// `bytes` where `exact_sum`.
    pub tensors: Vec<TensorLine>,
    /// One plain sentence: how it comes about for this job.
    pub note: &'static str,
    /// Where it comes from.
    pub source: Source,
    /// How sure it is.
    pub certainty: Certainty,
}

/// All lines alive at the peak on the most loaded rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// The lines, in the order of [`MemoryKind`].
    pub lines: Vec<LineItem>,
}

impl Ledger {
    /// Returns the sum of all lines, bytes.
    pub fn total(&self) -> Bytes {
        self.lines.iter().map(|line| line.bytes).sum()
    }

    /// Returns the sum of the lines of one kind, bytes.
    pub fn of(&self, kind: MemoryKind) -> Bytes {
        self.lines.iter().filter(|line| line.kind == kind).map(|line| line.bytes).sum()
    }

    /// Returns the sums by kind, bytes, in the order of [`MemoryKind::ALL`].
    pub fn by_kind(&self) -> [Bytes; 7] {
        let mut sums = [Bytes::ZERO; 7];
        for line in &self.lines {
            if let Some(sum) = sums.get_mut(line.kind.index()) {
                *sum += line.bytes;
            }
        }
        sums
    }
}
