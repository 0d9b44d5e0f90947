//! How many accelerators a job needs: by division, and the smallest count that can really run.

use std::num::NonZeroU64;

use super::division::arithmetic;
use crate::config::{Job, ParallelLayout, Run};
use crate::estimator::{Blocker, MemoryKind, blockers, memory_by_kind, memory_of_each};
use crate::units::{Bytes, MemoryUnit, Scale, sort_short, whole};

/// Counts above this are not searched.
const MOST_GPUS: u64 = 1 << 20;

/// The smallest count that can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Runnable {
    /// Accelerators.
    pub gpus: u64,
    /// The layout at this count.
    pub layout: ParallelLayout,
    /// Memory of the most loaded accelerator.
    pub per_gpu: Bytes,
}

/// Both answers to "how many".
#[derive(Clone, Debug, PartialEq)]
pub struct GpuCount {
    /// The division: shared memory over the memory that is left on an accelerator beside the part
    /// that each holds in full. `None` if that part alone is too much.
    pub arithmetic: Option<u64>,
    /// The smallest count that can run, with batch, heads, layers and nodes respected.
    pub runnable: Option<Runnable>,
    /// The reason why the second differs from the first, or why there is none.
    pub reason: String,
    /// The largest smaller count that was tried, and the rule or memory that blocks it.
    pub near_miss: Option<(u64, String)>,
}

/// A count that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Accelerators.
    pub gpus: u64,
    /// The layout at this count.
    pub layout: ParallelLayout,
    /// Memory of the most loaded accelerator.
    pub per_gpu: Bytes,
    /// The rule or the memory that stands in its way; `None` where it runs.
    pub blocked: Option<String>,
}

/// Returns the counts of accelerators in the order in which they are tried, up to the first that
/// runs, each with the bytes of its most loaded accelerator.
///
/// Training keeps tensor and pipeline degree and varies data-parallel ranks; serving varies the
/// tensor degree (and stages beyond one node) of one instance. Amounts in sentences are written in
/// `unit`.
pub fn tried(job: &Job, unit: MemoryUnit) -> Vec<Tried> {
    let (job, mut tried) = (&*job.must_hold(), Vec::new());
    let jobs: Vec<Job> =
        candidates(job).into_iter().map(|layout| job.with_layout(layout)).collect();
    for (job, by_kind) in jobs.iter().zip(memory_of_each(&jobs)) {
        let (need, layout) = (Need::with(job, by_kind), *job.layout());
        let runs = need.runs();
        let blocked = (!runs).then(|| need.what_blocks(unit));
        tried.push(Tried { gpus: layout.world_size(), layout, per_gpu: need.total(), blocked });
        if runs {
            break;
        }
    }
    tried
}

/// Returns how many accelerators a job needs, by division and by trying counts; see [`division`](super::division())
/// and [`tried`].
///
/// The first answer is arithmetic alone. The second respects batch, heads, layers and nodes, and
/// comes with the reason why it differs. Amounts in sentences are written in `unit`.
///
/// ```
/// use headroom::estimator::memory_by_kind;
/// use headroom::planner::gpu_count;
/// use headroom::scenario::codec::decode;
/// use headroom::units::MemoryUnit;
///
/// let job = decode("v2&m=llama3-70b&n=16").scenario.resolve().map_err(|problems| problems.len())?;
/// let count = gpu_count(&job, MemoryUnit::Gib);
/// let runnable = count.runnable.expect("a count that runs");
/// assert!(runnable.gpus >= count.arithmetic.unwrap_or(0));
/// assert!(runnable.per_gpu <= job.cluster().accelerator.memory);
/// # Ok::<(), usize>(())
/// ```
pub fn gpu_count(job: &Job, unit: MemoryUnit) -> GpuCount {
    let job = &*job.must_hold();
    let arithmetic = arithmetic(job);
    let mut tried = tried(job, unit);
    let runs = tried.pop_if(|last| last.blocked.is_none());
    let runnable =
        runs.map(|Tried { gpus, layout, per_gpu, .. }| Runnable { gpus, layout, per_gpu });
    let near_miss = tried.pop().and_then(|last| Some((last.gpus, last.blocked?)));
    let reason = reason(job, arithmetic, runnable.as_ref(), near_miss.as_ref(), unit);
    GpuCount { arithmetic, runnable, reason, near_miss }
}

/// The memory that a layout needs and the rules that forbid it: the part of an estimate that a
/// search asks for.
struct Need {
    by_kind: [Bytes; 7],
    capacity: Bytes,
    blockers: Vec<Blocker>,
}

impl Need {
    fn of(job: &Job) -> Self {
        Self::with(job, memory_by_kind(job))
    }

    fn with(job: &Job, by_kind: [Bytes; 7]) -> Self {
        Self { by_kind, capacity: job.cluster().accelerator.memory, blockers: blockers(job) }
    }

    fn total(&self) -> Bytes {
        self.by_kind.into_iter().sum()
    }

    fn runs(&self) -> bool {
        self.total() <= self.capacity && self.blockers.is_empty()
    }

    /// One clause that names the rule or the largest kind of memory that stands in the way.
    fn what_blocks(&self, unit: MemoryUnit) -> String {
        let total = self.total();
        if total <= self.capacity {
            return self.blockers.first().map_or_else(String::new, ToString::to_string);
        }
        let largest =
            MemoryKind::ALL.into_iter().max_by_key(|kind| self.by_kind.get(kind.index()).copied());
        let largest = largest.map_or("", MemoryKind::name);
        // The missing memory as the verdict on that layout prints it.
        let missing = Scale::of(unit, total, self.capacity).gap(total, self.capacity);
        format!("{missing} {unit} short per GPU; the largest part is {}", in_a_sentence(largest))
    }
}

/// Layouts from few to many accelerators that deal out work evenly.
fn candidates(job: &Job) -> Vec<ParallelLayout> {
    match job.run() {
        Run::Training(run) => {
            let (layout, node) =
                (*job.layout(), job.cluster().accelerator.accelerators_per_node.max(1));
            let micro_batch = run.micro_batch_size.unwrap_or(1);
            let shares = run.global_batch_size / micro_batch.max(1);
            divisors(shares)
                .into_iter()
                .filter_map(|d| {
                    Some(ParallelLayout { data_parallel_size: NonZeroU64::new(d)?, ..layout })
                })
                .filter(|layout| {
                    layout.world_size() <= MOST_GPUS && whole_nodes(layout.world_size(), node)
                })
                .collect()
        }
        Run::Serving(_) => serving_candidates(job),
    }
}

/// Layouts of more accelerators than the job has, from few to many.
pub(super) fn larger(job: &Job) -> Vec<ParallelLayout> {
    candidates(job)
        .into_iter()
        .filter(|layout| layout.world_size() > job.layout().world_size())
        .collect()
}

/// The first count, from few to many, that no rule forbids, whose tensors fit, and for which `runs`
/// is true; `runs` is asked `most` times at most.
pub(super) fn first_that(job: &Job, most: usize, runs: impl Fn(&Job) -> bool) -> Option<Runnable> {
    let jobs: Vec<Job> =
        candidates(job).into_iter().map(|layout| job.with_layout(layout)).collect();
    let needs = jobs
        .iter()
        .zip(memory_of_each(&jobs))
        .map(|(job, by_kind)| (job, Need::with(job, by_kind)));
    let mut fitting = needs.filter(|(_, need)| need.runs()).take(most);
    let (job, need) = fitting.find(|(job, _)| runs(job))?;
    Some(Runnable { gpus: job.layout().world_size(), layout: *job.layout(), per_gpu: need.total() })
}

/// Within one node any count will do; beyond it only whole nodes are rented and wired.
const fn whole_nodes(gpus: u64, node: u64) -> bool {
    gpus <= node || gpus.is_multiple_of(node)
}

pub(super) fn serving_candidates(job: &Job) -> Vec<ParallelLayout> {
    let node = job.cluster().accelerator.accelerators_per_node.max(1);
    let model = job.model();
    let tensor = divisors(model.num_attention_heads)
        .into_iter()
        .filter(|t| *t <= node.max(job.layout().t()));
    let widest = tensor.clone().max().unwrap_or(1);
    let stages =
        divisors(model.num_hidden_layers).into_iter().filter(|p| *p > 1).map(|p| (widest, p));
    // Servers spread tensor ranks over whole nodes too: 61 layers make no even stages, but 128
    // heads make 16 or 32 ranks. Cards that stand alone in their machines have no link for that.
    let spread = |t: &u64| node > 1 && *t > widest && t.is_multiple_of(node);
    let nodes = divisors(model.num_attention_heads).into_iter().filter(spread).map(|t| (t, 1));
    let mut beyond: Vec<(u64, u64)> = stages.chain(nodes).collect();
    sort_short(&mut beyond, |a, b| a.0.saturating_mul(a.1) < b.0.saturating_mul(b.1));
    tensor
        .map(|t| (t, 1))
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

/// The stated parts of a serving layout; the rest is to be found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatedLayout {
    /// Accelerators of all replicas.
    pub gpus: Option<u64>,
    /// Tensor-parallel degree.
    pub tensor: Option<u64>,
    /// Pipeline stages.
    pub pipeline: Option<u64>,
}

impl StatedLayout {
    /// True if a replica of that layout agrees with the stated parts.
    fn takes(&self, layout: &ParallelLayout) -> bool {
        self.gpus.is_none_or(|gpus| gpus.is_multiple_of(layout.world_size()))
            && self.tensor.is_none_or(|tensor| tensor == layout.t())
            && self.pipeline.is_none_or(|pipeline| pipeline == layout.p())
    }

    /// Layouts of one replica, from few to many accelerators, that agree with the stated parts. A
    /// stated degree need not divide heads or layers: the estimate names the rule that it breaks.
    fn candidates(&self, job: &Job) -> Vec<ParallelLayout> {
        let mut layouts: Vec<ParallelLayout> = serving_candidates(job);
        let of = |t: u64, p: u64| {
            Some(ParallelLayout {
                tensor_model_parallel_size: NonZeroU64::new(t)?,
                pipeline_model_parallel_size: NonZeroU64::new(p)?,
                data_parallel_size: NonZeroU64::MIN,
                ..*job.layout()
            })
        };
        match (self.tensor, self.pipeline) {
            (None, None) => {}
            (Some(tensor), stages) => {
                layouts.splice(0..0, of(tensor, stages.unwrap_or(1))).for_each(drop);
            }
            (None, Some(stages)) => {
                let tensor: Vec<u64> = layouts
                    .iter()
                    .filter(|layout| layout.p() == 1)
                    .map(ParallelLayout::t)
                    .collect();
                layouts = tensor.into_iter().filter_map(|tensor| of(tensor, stages)).collect();
            }
        }
        layouts.retain(|layout| self.takes(layout));
        layouts
    }
}

/// Returns the smallest layout of one replica that runs a serving job and agrees with the stated
/// parts.
///
/// Where none runs: the widest, which is nearest to fitting, if the number of accelerators is
/// stated; else one accelerator, or the stated degrees. `None` when training.
pub fn smallest_replica(job: &Job, stated: StatedLayout) -> Option<ParallelLayout> {
    if job.training().is_some() {
        return None;
    }
    let layouts = stated.candidates(job);
    let jobs: Vec<Job> = layouts.iter().map(|layout| job.with_layout(*layout)).collect();
    let runs = jobs
        .iter()
        .zip(memory_of_each(&jobs))
        .position(|(job, by_kind)| Need::with(job, by_kind).runs());
    let widest = layouts.len().saturating_sub(1);
    layouts.get(runs.unwrap_or(if stated.gpus.is_some() { widest } else { 0 })).copied()
}

/// All divisors of `n` in rising order.
pub(super) fn divisors(n: u64) -> Vec<u64> {
    let mut small = Vec::new();
    let mut large = Vec::new();
    let mut i = 1_u64;
    // Inputs are bounded by the field table; trying numbers up to the square root keeps even absurd
    // values quick.
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

/// The layout that takes the division literally.
fn layout_of_division(job: &Job, gpus: u64) -> Option<ParallelLayout> {
    let layout = *job.layout();
    Some(match job.run() {
        Run::Training(_) => {
            let ranks = NonZeroU64::new(gpus / layout.t().saturating_mul(layout.p()).max(1))?;
            ParallelLayout { data_parallel_size: ranks, ..layout }
        }
        Run::Serving(_) => ParallelLayout {
            tensor_model_parallel_size: NonZeroU64::new(gpus)?,
            ..ParallelLayout::SINGLE
        },
    })
}

/// The reason why the division's count cannot be used as it is; `None` if nothing forbids it and
/// only a more evenly dealt count was preferred.
fn against_division(job: &Job, gpus: u64, unit: MemoryUnit) -> Option<String> {
    let layout = layout_of_division(job, gpus)?;
    let need = Need::of(&job.with_layout(layout));
    if let Some(blocker) = need.blockers.first() {
        return Some(blocker.to_string());
    }
    let node = job.cluster().accelerator.accelerators_per_node.max(1);
    if !whole_nodes(gpus, node) {
        return Some(format!("{gpus} GPUs are not whole nodes of {node}"));
    }
    (!need.runs()).then(|| need.what_blocks(unit))
}

/// The memory that the runnable count takes, and why the division or a smaller count does not run,
/// in up to three sentences; or one sentence on why no count runs.
fn reason(
    job: &Job,
    arithmetic: Option<u64>,
    runnable: Option<&Runnable>,
    near_miss: Option<&(u64, String)>,
    unit: MemoryUnit,
) -> String {
    let Some(runnable) = runnable else {
        let why = near_miss.map_or_else(
            || "no layout deals out the work evenly".to_owned(),
            |(gpus, what)| format!("with {}, {what}", whole(*gpus)),
        );
        return format!("No count can run it with this micro-batch and sharding: {why}.");
    };
    let capacity = job.cluster().accelerator.memory;
    let scale = Scale::of(unit, runnable.per_gpu, capacity);
    let (used, memory) = (scale.show(runnable.per_gpu), scale.show(capacity));
    let mut text = match runnable.gpus {
        1 => format!("1 GPU takes {used} of {memory} {unit}."),
        gpus => format!("{} GPUs take {used} of {memory} {unit} each.", whole(gpus)),
    };
    let mut because = |gpus: u64, what: &str| {
        let fails =
            if gpus == 1 { "1 GPU fails".to_owned() } else { format!("{} GPUs fail", whole(gpus)) };
        text = format!("{text} {fails}: {what}.");
    };
    let division = arithmetic.filter(|division| *division < runnable.gpus);
    if let Some((division, what)) =
        division.and_then(|division| Some((division, against_division(job, division, unit)?)))
    {
        because(division, &what);
    }
    if let Some((gpus, what)) =
        near_miss.filter(|(gpus, _)| *gpus < runnable.gpus && Some(*gpus) != division)
    {
        because(*gpus, what);
    }
    text
}
/// A name for use within a sentence: in lower case, unless it is an abbreviation.
fn in_a_sentence(name: &str) -> String {
    let abbreviated = name.chars().nth(1).is_some_and(char::is_uppercase);
    if abbreviated { name.to_owned() } else { name.to_ascii_lowercase() }
}
