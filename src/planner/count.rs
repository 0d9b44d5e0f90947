//! How many accelerators: the division, and the smallest count that can really run.

use std::num::NonZeroU64;

use crate::config::{Job, ParallelLayout, Run};
use crate::estimator::{Estimate, Headroom, MemoryKind, estimate};
use crate::units::{Bytes, MemoryUnit, ceil_u64, to_f64};

/// Counts above this are not searched.
const MOST_GPUS: u64 = 1 << 20;

/// The smallest count that can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Runnable {
    /// Accelerators.
    pub gpus: u64,
    /// Its layout.
    pub layout: ParallelLayout,
    /// Memory of the most loaded one.
    pub per_gpu: Bytes,
}

/// Both answers to "how many".
#[derive(Clone, Debug, PartialEq)]
pub struct GpuCount {
    /// The division: what is shared, over what is left beside what every accelerator holds. `None` if that alone is too much.
    pub arithmetic: Option<u64>,
    /// The smallest count that can run, with batch, heads, layers and nodes respected.
    pub runnable: Option<Runnable>,
    /// Why the second differs from the first, or why there is none.
    pub reason: String,
    /// The largest smaller count that was tried and what blocks it.
    pub near_miss: Option<(u64, String)>,
}

/// Both answers for a job. Training keeps tensor and pipeline degree and varies data-parallel ranks; serving varies the
/// tensor degree (and stages beyond one node) of one instance.
pub fn gpu_count(job: &Job, unit: MemoryUnit) -> GpuCount {
    let arithmetic = arithmetic(job);
    let mut near_miss = None;
    let mut runnable = None;
    for layout in candidates(job) {
        let estimate = estimate(&job.with_layout(layout));
        if estimate.runs() {
            runnable = Some(Runnable { gpus: layout.world_size(), layout, per_gpu: estimate.total() });
            break;
        }
        near_miss = Some((layout.world_size(), what_blocks(&estimate, unit)));
    }
    let reason = reason(job, arithmetic, runnable.as_ref(), near_miss.as_ref(), unit);
    GpuCount { arithmetic, runnable, reason, near_miss }
}

/// One clause: the rule or the largest term that stands in the way.
fn what_blocks(estimate: &Estimate, unit: MemoryUnit) -> String {
    match (estimate.headroom(), estimate.blockers.first()) {
        (Headroom::Short(missing), _) => {
            let by_kind = estimate.ledger.by_kind();
            let largest = MemoryKind::ALL.into_iter().max_by_key(|kind| by_kind.get(kind.index()).copied());
            let largest = largest.map_or("", MemoryKind::name);
            let bytes = by_kind.into_iter().max().unwrap_or_default();
            format!(
                "{} short per GPU; the largest part is {} with {}",
                unit.show(missing),
                largest.to_lowercase(),
                unit.show(bytes)
            )
        }
        (Headroom::Free(_), Some(blocker)) => blocker.to_string(),
        (Headroom::Free(_), None) => String::new(),
    }
}

/// Layouts from few to many accelerators that deal out work evenly.
fn candidates(job: &Job) -> Vec<ParallelLayout> {
    match job.run() {
        Run::Training(run) => {
            let (layout, node) = (*job.layout(), job.cluster().accelerator.accelerators_per_node.max(1));
            let micro_batch = run.micro_batch_size.unwrap_or(1);
            let shares = run.global_batch_size / micro_batch.max(1);
            divisors(shares)
                .into_iter()
                .filter_map(|d| Some(ParallelLayout { data_parallel_size: NonZeroU64::new(d)?, ..layout }))
                .filter(|layout| layout.world_size() <= MOST_GPUS && whole_nodes(layout.world_size(), node))
                .collect()
        }
        Run::Serving(_) => serving_candidates(job),
    }
}

/// Within one node any count will do; beyond it only whole nodes are rented and wired.
const fn whole_nodes(gpus: u64, node: u64) -> bool {
    gpus <= node || gpus.is_multiple_of(node)
}

fn serving_candidates(job: &Job) -> Vec<ParallelLayout> {
    let node = job.cluster().accelerator.accelerators_per_node.max(1);
    let model = job.model();
    let tensor = divisors(model.num_attention_heads).into_iter().filter(|t| *t <= node.max(job.layout().t()));
    let widest = tensor.clone().max().unwrap_or(1);
    let within = tensor.map(|t| (t, 1));
    let beyond = divisors(model.num_hidden_layers).into_iter().filter(|p| *p > 1).map(|p| (widest, p));
    within
        .chain(beyond)
        .filter_map(|(t, p)| {
            Some(ParallelLayout {
                tensor_model_parallel_size: NonZeroU64::new(t)?,
                pipeline_model_parallel_size: NonZeroU64::new(p)?,
                data_parallel_size: NonZeroU64::MIN,
                ..*job.layout()
            })
        })
        .filter(|layout| layout.world_size() <= MOST_GPUS)
        .collect()
}

/// All divisors of `n` in rising order.
fn divisors(n: u64) -> Vec<u64> {
    let mut small = Vec::new();
    let mut large = Vec::new();
    let mut i = 1_u64;
    // Inputs are bounded by the field table; a square root of steps keeps even absurd values quick.
    while i.saturating_mul(i) <= n && i <= MOST_GPUS {
        if n.is_multiple_of(i) {
            small.push(i);
            if i != n / i {
                large.push(n / i);
            }
        }
        i += 1;
    }
    small.extend(large.into_iter().rev());
    small
}

/// The division: `shared / (capacity - replicated)`, times the model-parallel ranks.
///
/// Memory per rank is `replicated + shared / d`; both are read off two estimates, at 2 ranks and at very many.
fn arithmetic(job: &Job) -> Option<u64> {
    let capacity = job.cluster().accelerator.memory.as_f64();
    let many = match job.run() {
        Run::Training(run) if run.micro_batch_size.is_none() => run.global_batch_size.max(4),
        _ => MOST_GPUS,
    };
    let (shared, replicated) = if job.training().is_some() {
        let total = |d: u64| NonZeroU64::new(d).map_or(0.0, |d| estimate(&job.with_data_parallel_size(d)).total().as_f64());
        line_through((2, total(2)), (many, total(many)))
    } else {
        let fixed = estimate(job)
            .ledger
            .lines
            .iter()
            .filter(|line| line.label == "Framework context")
            .map(|line| line.bytes)
            .sum::<Bytes>();
        let single = estimate(&job.with_layout(ParallelLayout::SINGLE)).total();
        (single.saturating_sub(fixed).as_f64(), fixed.as_f64())
    };
    let model_parallel = if job.training().is_some() { job.layout().t().saturating_mul(job.layout().p()) } else { 1 };
    let left = capacity - replicated;
    if left <= 0.0 {
        return None;
    }
    Some(ceil_u64((shared / left).max(1.0)).saturating_mul(model_parallel))
}

/// `(shared, replicated)` of `y = replicated + shared / x` through two points.
fn line_through((x1, y1): (u64, f64), (x2, y2): (u64, f64)) -> (f64, f64) {
    let (inverse1, inverse2) = (1.0 / to_f64(x1), 1.0 / to_f64(x2));
    let shared = ((y1 - y2) / (inverse1 - inverse2)).max(0.0);
    (shared, (y2 - shared * inverse2).max(0.0))
}

fn reason(
    job: &Job,
    arithmetic: Option<u64>,
    runnable: Option<&Runnable>,
    near_miss: Option<&(u64, String)>,
    unit: MemoryUnit,
) -> String {
    let Some(runnable) = runnable else {
        let why = near_miss
            .map_or_else(|| "no layout deals out the work evenly".to_owned(), |(gpus, what)| format!("with {gpus} GPUs: {what}"));
        return format!("No count can run it with this micro-batch and sharding: {why}.");
    };
    let fit = format!("{} of {} per GPU", unit.show(runnable.per_gpu), unit.show(job.cluster().accelerator.memory));
    match (arithmetic, near_miss) {
        (Some(division), _) if division == runnable.gpus => format!("The division comes out even: {fit}."),
        (_, Some((gpus, what))) if *gpus < runnable.gpus => format!("{fit}. With {gpus} it cannot: {what}."),
        _ => format!("{fit}."),
    }
}
