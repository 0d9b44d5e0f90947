//! How many accelerators a job needs by division: memory that they share over memory left on each.

use std::num::NonZeroU64;

use crate::config::{Job, ParallelLayout, Run};
use crate::estimator::{
    CUDA_GRAPHS, FRAMEWORK_CONTEXT, GATHERED_WEIGHTS, GRADIENT_REDUCTION, KEPT_FREE, LineItem,
    MEASURED_BEYOND, MemoryKind, REDUCTION_BUCKET, estimate, fragmentation_percent,
};
use crate::units::Bytes;

const TWO: NonZeroU64 = NonZeroU64::MIN.saturating_add(1);

/// The division of the memory that accelerators share by the memory that is left on each. Reserves
/// are counted with the amounts that they are a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryDivision {
    /// Data-parallel ranks, or accelerators when serving, for which the amounts hold.
    pub ranks: u64,
    /// Memory of one rank that becomes smaller with more ranks.
    pub shared: Bytes,
    /// Memory that every rank holds in full, however many there are.
    pub replicated: Bytes,
    /// Memory that is neither the model's nor shared: context, graphs, the part that a server
    /// leaves free.
    pub fixed: Bytes,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// Model-parallel ranks behind each data-parallel one; 1 when serving.
    pub model_parallel: u64,
}

impl MemoryDivision {
    /// Returns the bytes that are left on each rank for the shared part: `capacity − fixed −
    /// replicated`, at least 0.
    pub fn left(&self) -> Bytes {
        self.capacity.saturating_sub(self.fixed + self.replicated)
    }

    /// Returns the number of accelerators, `⌈ranks · shared / left⌉ · model_parallel`, where the
    /// first factor is at least 1; `None` where nothing is left.
    pub fn count(&self) -> Option<u64> {
        let left = self.left();
        let ranks = || (self.shared * self.ranks).0.div_ceil(left.0).max(1);
        (left > Bytes::ZERO).then(|| ranks().saturating_mul(self.model_parallel))
    }
}

/// Returns the amounts of the division that answers "how many accelerators": bytes that ranks
/// share, bytes that each holds in full, and bytes of one accelerator.
///
/// Reserves are counted with the amounts that they are a share of. A training has two data-parallel
/// ranks at least, so that weights gathered under full sharding are counted; a serving instance
/// shares everything but the framework's context, captured graphs and the part that a server leaves
/// free. [`MemoryDivision::count`] has the formula.
///
/// ```
/// use headroom::planner::{division, gpu_count};
/// use headroom::scenario::codec::decode;
/// use headroom::units::MemoryUnit;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let amounts = division(&job);
/// assert!(amounts.left() < amounts.capacity);
/// assert_eq!(amounts.count(), gpu_count(&job, MemoryUnit::Gib).arithmetic);
/// # Ok::<(), usize>(())
/// ```
pub fn division(job: &Job) -> MemoryDivision {
    let job = &*job.must_hold();
    // With two ranks or more, so that the weights gathered under full sharding are among the lines.
    let base = match job.run() {
        Run::Training(_) => job.with_data_parallel_size(job.layout().data_parallel_size.max(TWO)),
        Run::Serving(_) => job.with_layout(ParallelLayout::SINGLE),
    };
    let lines = estimate(&base).ledger.lines;
    let (context, model): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line| line.kind == MemoryKind::Framework);
    let fixed = [FRAMEWORK_CONTEXT, CUDA_GRAPHS, KEPT_FREE, MEASURED_BEYOND];
    let fixed: Bytes =
        context.iter().filter(|line| fixed.contains(&line.label)).map(|line| line.bytes).sum();
    let (shared, replicated): (Vec<&LineItem>, Vec<_>) =
        model.iter().partition(|line| is_shared(&base, line));
    let with_reserve = |lines: &[&LineItem]| {
        let bytes: Bytes = lines.iter().map(|line| line.bytes).sum();
        bytes + bytes.percent(fragmentation_percent(&base))
    };
    let (shared, replicated) = (with_reserve(&shared), with_reserve(&replicated));
    let layout = job.layout();
    let model_parallel =
        if job.training().is_some() { layout.t().saturating_mul(layout.p()) } else { 1 };
    let capacity = base.cluster().accelerator.memory;
    MemoryDivision { ranks: base.layout().d(), shared, replicated, fixed, capacity, model_parallel }
}

/// The count of [`division`].
pub(super) fn arithmetic(job: &Job) -> Option<u64> {
    division(job).count()
}

/// True if more accelerators make this line smaller on each of them.
fn is_shared(job: &Job, line: &LineItem) -> bool {
    let sharding = job.layout().sharding;
    let Some(run) = job.training() else { return true };
    match line.kind {
        MemoryKind::Parameter => sharding.shards_parameters(),
        MemoryKind::Gradient => sharding.shards_gradients(),
        MemoryKind::OptimizerState => sharding.shards_optimizer(),
        // Without a micro-batch of its own, a rank takes its share of the global batch.
        MemoryKind::Activation => run.micro_batch_size.is_none(),
        MemoryKind::Temporary => {
            run.micro_batch_size.is_none()
                && ![GATHERED_WEIGHTS, GRADIENT_REDUCTION, REDUCTION_BUCKET].contains(&line.label)
        }
        MemoryKind::KvCache | MemoryKind::Framework => false,
    }
}
