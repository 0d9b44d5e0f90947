//! The answer of a method for one scenario.

use crate::estimator::MemoryKind;
use crate::units::{Bytes, Flops, Seconds};

/// A kind of memory, in the documents' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MethodKind {
    /// Weights.
    Weights,
    /// Gradients.
    Gradients,
    /// Optimizer states.
    Optimizer,
    /// Activations.
    Activations,
    /// Key/value cache.
    KvCache,
    /// CUDA context, fragmentation, or a percentage on top.
    Overhead,
    /// Memory that lives only for a moment of the step.
    Temporary,
}

impl MethodKind {
    /// All kinds in the order they are shown.
    pub const ALL: [Self; 7] = [
        Self::Weights,
        Self::Gradients,
        Self::Optimizer,
        Self::Activations,
        Self::Temporary,
        Self::KvCache,
        Self::Overhead,
    ];

    /// Returns the documents' word for a kind of memory of the ledger.
    pub const fn of(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Parameter => Self::Weights,
            MemoryKind::Gradient => Self::Gradients,
            MemoryKind::OptimizerState => Self::Optimizer,
            MemoryKind::Activation => Self::Activations,
            MemoryKind::KvCache => Self::KvCache,
            MemoryKind::Temporary => Self::Temporary,
            MemoryKind::Framework => Self::Overhead,
        }
    }

    /// Returns the written name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
            Self::KvCache => "key/value cache",
            Self::Overhead => "overhead",
            Self::Temporary => "temporary",
        }
    }
}

/// One line of a method's memory on one accelerator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodLine {
    /// Kind of memory.
    pub kind: MethodKind,
    /// Bytes on one accelerator.
    pub bytes: Bytes,
    /// The document's formula in symbols.
    pub formula: String,
    /// A remark on the line, if there is one.
    pub note: Option<String>,
}

/// The number of accelerators that a method asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuAnswer {
    /// The document's own division with its own rounding; `None` where it has no rule or nothing
    /// can fit.
    pub arithmetic: Option<u64>,
    /// The smallest count that can really run by the document's memory; `None` where none can.
    pub runnable: Option<u64>,
    /// The reason why the two differ, or the memory that the smallest count needs.
    pub reason: String,
}

/// One place where a method and the engine differ, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodDifference {
    /// The quantity that differs: a kind of memory, or "parameters".
    pub term: &'static str,
    /// The method's value.
    pub says: String,
    /// The engine's value.
    pub engine_says: String,
    /// The reason for the difference in this scenario.
    pub why: String,
}

/// The training's compute and time, where a document has a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodTime {
    /// The formula in symbols.
    pub formula: String,
    /// Operations of the whole training.
    pub flops: Flops,
    /// Time on the scenario's accelerators at their achieved rate; `None` without a rate.
    pub time: Option<Seconds>,
}

/// A method's answer for one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodAnswer {
    /// Short id, stable: `ju-2026`, `eleuther`, `capacity-planning`, `distributed-overview`,
    /// `solenya`.
    pub id: &'static str,
    /// Short name for headings.
    pub title: &'static str,
    /// The document's title.
    pub document: &'static str,
    /// True if the document says anything about this kind of job; if not, all amounts are empty.
    pub covered: bool,
    /// Memory on one accelerator of the scenario's layout.
    pub per_gpu: Vec<MethodLine>,
    /// Sum of the lines.
    pub per_gpu_total: Bytes,
    /// The document's total of the whole job, where it has one.
    pub whole_job_total: Option<Bytes>,
    /// Compute and time of the training, where the document has a formula.
    pub time: Option<MethodTime>,
    /// Accelerators.
    pub gpus: GpuAnswer,
    /// Parts of this scenario that the document leaves out.
    pub not_covered: Vec<&'static str>,
    /// Where and why it differs from the engine.
    pub differences: Vec<MethodDifference>,
    /// Neutral sentences on places where the document is wrong or mixes units, as far as they
    /// matter for this scenario.
    pub remarks: Vec<String>,
}

impl MethodAnswer {
    /// Returns the bytes of one kind on one accelerator.
    pub fn bytes_of(&self, kind: MethodKind) -> Bytes {
        self.per_gpu.iter().filter(|line| line.kind == kind).map(|line| line.bytes).sum()
    }
}
