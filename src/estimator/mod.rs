//! From a checked [`Job`] to an [`Estimate`]: the ledger of memory on the most loaded rank, the
//! peak's moment, blockers, compute.
//!
//! Nothing here can fail. Every byte is a sum over the operation list of [`crate::ops`] or a line
//! with a source.

mod activations;
mod at_peak;
mod blockers;
mod companions;
mod compute;
mod device_memory;
mod drafting;
mod host;
mod law;
mod layouts;
mod ledger;
mod listed;
mod megatron;
mod overhead;
mod parts;
mod placed;
mod printed;
mod replayed_failure;
mod reservation;
mod served;
mod slots;
mod stage;
mod stages;
mod states;
pub mod time;
mod timeline;

pub use at_peak::{AtPeak, HeldAfter, TensorsAlike, tensors_at_peak};
pub use blockers::{Blocker, FrameworkRule, HostRefused, Rules};
pub use compute::Compute;
pub use device_memory::{
    DeviceMemory, NotReplayed, device_memory, device_memory_under, finds_room, least_memory,
    rank_device_memory,
};
pub use drafting::{DRAFT_CACHE, DRAFT_LOGITS, DRAFT_WEIGHTS};
pub use law::{Lengths, Requests};
pub use layouts::Layouts;
pub use ledger::{Certainty, Ledger, LineItem, MemoryKind, TensorLine};
pub use overhead::{FRAMEWORK_CONTEXT, MEASURED_BEYOND};
use parts::unplayed;
pub use parts::{EnginePart, has_parts, has_parts_of, missing_parts};
pub use placed::CACHE_ON_HOST;
pub use printed::Printed;
pub use replayed_failure::{ReplayedFailure, replayed_failure};
pub use reservation::{
    CUDA_GRAPHS, CacheRoom, KEPT_FREE, blocks_in, concurrency, fragmentation_percent,
};
pub use slots::ADAPTER_SLOTS;
pub use stages::{StageMemory, stages};
pub use states::GATHERED_WEIGHTS;
pub use timeline::{
    AskedMoment, AskedTensor, GRADIENT_REDUCTION, MemoryEvent, Phase, REDUCTION_BUCKET, Sequence,
    Stretch, TensorEvent, Timeline, asked_tensors, events, sequence,
};

use crate::config::{Job, Run, TrainingRun};
use crate::ops;
use crate::units::Bytes;

/// A moment of the step at which memory may be highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it is, e.g. `when backward recomputes the last block`.
    pub name: &'static str,
    /// Memory then.
    pub total: Bytes,
}

/// Parameters of the whole model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParameterCount {
    /// All.
    pub total: u64,
    /// Token and position embedding.
    pub embedding: u64,
    /// All blocks together.
    pub blocks: u64,
    /// Final norm and untied head.
    pub head: u64,
    /// Parameters that learn; adapters are among all of these.
    pub trainable: u64,
}

/// Memory left, or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// So much is free.
    Free(Bytes),
    /// So much is missing.
    Short(Bytes),
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Fits with at least 5 % free.
    Fits,
    /// Fits with less than 5 % free.
    Tight,
    /// Needs more memory than the accelerator has.
    DoesNotFit,
    /// A rule forbids this layout, whatever the memory.
    CannotRun,
}

/// Everything known about a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// All lines alive at the peak on the most loaded rank.
    pub ledger: Ledger,
    /// Tensors of that rank that wait in pinned host memory, and of a served model the parts that
    /// lie in the host's memory; they are no part of `ledger`.
    pub host: Ledger,
    /// The moments compared.
    pub moments: Vec<Moment>,
    /// The step from forward to the optimizer; `None` when serving, and for kernels whose step is
    /// not played operator by operator.
    pub timeline: Option<Timeline>,
    /// The moment of the peak.
    pub peak_moment: &'static str,
    /// The pipeline stage that holds most, counted from 0.
    pub peak_stage: u64,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// Rules that forbid the layout; empty when it can run.
    pub blockers: Vec<Blocker>,
    /// Parameters.
    pub parameters: ParameterCount,
    /// FLOPs, time and cost of training; `None` when serving.
    pub compute: Option<Compute>,
    /// Keys and values of one token in all blocks, over all ranks of an instance; `None` when
    /// training.
    pub kv_cache_per_token: Option<Bytes>,
    /// Room for keys and values; `None` when training.
    pub cache_room: Option<CacheRoom>,
    /// Requests that run at once where a server lets further ones wait; `None` where all that are
    /// asked for have to fit.
    pub at_once: Option<u64>,
}

impl Estimate {
    /// Returns the memory at the peak on the most loaded rank, bytes: the sum of all lines of the
    /// ledger.
    pub fn total(&self) -> Bytes {
        self.ledger.total()
    }

    /// Returns the bytes that are left or missing on the most loaded rank: `|capacity − total|`.
    ///
    /// A total that equals the capacity fits, with nothing left.
    pub fn headroom(&self) -> Headroom {
        let total = self.total();
        if total <= self.capacity {
            Headroom::Free(self.capacity.saturating_sub(total))
        } else {
            Headroom::Short(total.saturating_sub(self.capacity))
        }
    }

    /// Returns the answer in one word.
    ///
    /// Memory is judged first: a layout that neither fits nor may run "does not fit". Less than a
    /// twentieth of the capacity free is [`Verdict::Tight`].
    ///
    /// ```
    /// use headroom::estimator::{Verdict, estimate};
    /// use headroom::scenario::codec::decode;
    ///
    /// let job = decode("v2&m=llama3-70b&n=16").scenario.resolve();
    /// let verdict = job.map(|job| estimate(&job).verdict()).map_err(|problems| problems.len());
    /// assert_eq!(verdict, Ok(Verdict::DoesNotFit));
    /// ```
    pub fn verdict(&self) -> Verdict {
        match self.headroom() {
            Headroom::Short(_) => Verdict::DoesNotFit,
            Headroom::Free(_) if !self.blockers.is_empty() => Verdict::CannotRun,
            // Where others wait, requests fill the memory on purpose: with less of it fewer run.
            Headroom::Free(free)
                if self.at_once.is_none() && free.0.saturating_mul(20) < self.capacity.0 =>
            {
                Verdict::Tight
            }
            Headroom::Free(_) => Verdict::Fits,
        }
    }

    /// Returns true if the job fits and no blocker forbids it.
    pub fn runs(&self) -> bool {
        matches!(self.verdict(), Verdict::Fits | Verdict::Tight)
    }
}

/// Returns the estimate of a job: memory of its most loaded rank in bytes, and what goes with it.
///
/// Every line of [`Estimate::ledger`] is a sum over the operation list of the model
/// ([`crate::ops`]) or a rule with a source. The lines add up to [`Estimate::total`]. Where ranks
/// of a pipeline hold different amounts, the ledger is that of the stage that holds most.
///
/// Assumes that all sequences are as long as the job states, and that experts are asked equally
/// often. A job is checked already, so that nothing here can fail; a layout that a framework
/// refuses is answered too, with its rules in [`Estimate::blockers`].
///
/// ```
/// use headroom::estimator::{MemoryKind, estimate};
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let answer = estimate(&job);
/// let [weights, states] =
///     [MemoryKind::Parameter, MemoryKind::OptimizerState].map(|kind| answer.ledger.of(kind));
/// assert!(weights < answer.total() && states < answer.total());
/// assert!(answer.runs());
/// # Ok::<(), usize>(())
/// ```
pub fn estimate(job: &Job) -> Estimate {
    let with = ops::lowering(job);
    let list = if with.training { ops::lower(&with) } else { ops::without_products(&with) };
    let (mut timeline, mut cache_room) = (None, None);
    let (ledger, peak_moment, peak_stage, moments) = if let Some(run) = accompanied_run(job) {
        let together = companions::together(job, run);
        timeline = Some(together.timeline);
        (Ledger { lines: together.lines }, together.name, together.stage, together.moments)
    } else if let Some(run) = played_run(job) {
        let played = timeline::most_loaded(job, run, false);
        let mut lines = played.lines();
        overhead::add(job, &mut lines);
        timeline = Some(played.timeline());
        (Ledger { lines }, played.name(), played.stage(), played.moments())
    } else if let Some(run) = megatron_run(job) {
        let peak = (unplayed().peak)(job, run, None, true);
        (Ledger { lines: peak.lines }, peak.name, peak.stage, peak.moments)
    } else {
        let (peak, moments) = listed::peak(job, &list);
        let ledger = Ledger { lines: peak.lines(true) };
        cache_room = reservation::room(job, &peak.scope.stage, &ledger.lines);
        (ledger, peak.name(), peak.scope.stage.index, moments)
    };
    let [embedding, head] = [&list.embedding, &list.head].map(|ops| ops::parameters(ops));
    let total = list.parameters();
    let blocks = total.saturating_sub(embedding.saturating_add(head));
    Estimate {
        ledger,
        host: Ledger { lines: host::lines(job, peak_stage) },
        peak_moment,
        peak_stage,
        moments,
        timeline,
        capacity: job.cluster().accelerator.memory,
        blockers: blockers::blockers(job),
        parameters: ParameterCount {
            total,
            embedding,
            blocks,
            head,
            trainable: trainable(job, total),
        },
        compute: compute::compute(job, &list),
        kv_cache_per_token: kv_cache_per_token(job),
        cache_room,
        at_once: at_once(job),
    }
}

/// Requests that run at once where others wait.
const fn at_once(job: &Job) -> Option<u64> {
    match job.run() {
        Run::Serving(run) if run.others_wait => Some(run.concurrent_sequences),
        Run::Serving(_) | Run::Training(_) => None,
    }
}

/// Returns memory at the peak on the most loaded rank by kind, bytes, in the order of
/// [`MemoryKind::ALL`].
///
/// These are the sums of [`estimate`]'s ledger, without its lines. Curves and searches use this
/// function, because they ask hundreds of times.
///
/// ```
/// use headroom::estimator::{estimate, memory_by_kind};
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// assert_eq!(memory_by_kind(&job), estimate(&job).ledger.by_kind());
/// # Ok::<(), usize>(())
/// ```
pub fn memory_by_kind(job: &Job) -> [Bytes; 7] {
    if let Some(run) = accompanied_run(job) {
        return Ledger { lines: companions::together(job, run).lines }.by_kind();
    }
    if let Some(run) = played_run(job) {
        return overhead::on_top(job, timeline::most_loaded(job, run, false).peak());
    }
    if let Some(run) = megatron_run(job) {
        return Ledger { lines: (unplayed().peak)(job, run, None, false).lines }.by_kind();
    }
    let list = ops::without_products(&ops::lowering(job));
    listed::peak(job, &list).0.by_kind
}

/// Returns [`memory_by_kind`] of one job after the other, bytes.
///
/// For jobs that differ in their data-parallel ranks alone, as curves and searches ask for them,
/// this is much quicker than each by itself. The bytes are the same, which a property test holds.
pub fn memory_of_each(jobs: &[Job]) -> impl Iterator<Item = [Bytes; 7]> {
    let mut ranks = timeline::Ranks::default();
    let mut listed = law::Last::default();
    jobs.iter().map(move |job| {
        if let Some(run) = alone_run(job) {
            return overhead::on_top(job, ranks.memory(job, run));
        }
        if megatron_run(job).is_some() || accompanied_run(job).is_some() {
            return memory_by_kind(job);
        }
        let with = ops::lowering(job);
        listed::peak(job, listed.value(with, |_| ops::without_products(&with))).0.by_kind
    })
}

/// Returns the ledger of one pipeline stage at its own peak, bytes on one of its ranks; `stage` is
/// counted from 0. `None` for jobs that are not trained under Megatron-LM's schedule.
///
/// Megatron-LM logs the memory of the last stage, which is seldom the one that holds most.
pub fn stage_ledger(job: &Job, stage: u64) -> Option<Ledger> {
    let run = megatron_run(job)?;
    Some(Ledger { lines: (unplayed().peak)(job, run, Some(stage), true).lines })
}

/// Returns the ledger of one pipeline stage when forward has ended for all its micro-batches in
/// flight, bytes on one of its ranks. `None` as for [`stage_ledger`].
pub fn stage_after_forward(job: &Job, stage: u64) -> Option<Ledger> {
    let run = megatron_run(job)?;
    Some(Ledger { lines: (unplayed().after_forward)(job, run, stage) })
}

/// Returns memory on one rank by kind at two moments, bytes, in the order of [`MemoryKind::ALL`]:
/// when forward has ended (the loss computed, nothing released), and at the peak of the step.
///
/// Overheads outside the model are not in it, so that the sums can be set beside PyTorch's counts
/// of allocated memory. `None` when serving, and for kernels whose step is not played operator by
/// operator.
pub fn measured(job: &Job) -> Option<([Bytes; 7], [Bytes; 7])> {
    let played = timeline::most_loaded(job, played_run(job)?, false);
    Some((played.after_forward(), played.peak()))
}

/// Returns memory by kind with the overheads outside PyTorch's allocator added (framework context,
/// reserves), bytes, in the order of [`MemoryKind::ALL`].
///
/// `by_kind` is the memory of a moment of the timeline, whose stretches leave these overheads out.
pub fn with_overheads(job: &Job, by_kind: [Bytes; 7]) -> [Bytes; 7] {
    overhead::on_top(job, by_kind)
}

/// The training run, if its step is played operator by operator.
fn played_run(job: &Job) -> Option<&TrainingRun> {
    job.training().filter(|run| timeline::is_played(run))
}

/// The training run, if its step is played and other models share the memory.
fn accompanied_run(job: &Job) -> Option<&TrainingRun> {
    played_run(job).filter(|run| companions::there_are(&run.tuning))
}

/// The training run, if its step is played and its model has the memory for itself.
fn alone_run(job: &Job) -> Option<&TrainingRun> {
    played_run(job).filter(|run| !companions::there_are(&run.tuning))
}

/// The training run, if its step follows Megatron-LM's schedule.
fn megatron_run(job: &Job) -> Option<&TrainingRun> {
    job.training().filter(|run| run.stack.has_own_schedule())
}

/// Returns the rules that forbid the job's layout, whatever the memory; empty where it can run. See
/// [`Estimate::blockers`].
pub fn blockers(job: &Job) -> Vec<Blocker> {
    blockers::blockers(job)
}

/// Parameters that learn.
fn trainable(job: &Job, total: u64) -> u64 {
    match job.training() {
        Some(run) if run.tuning.is_full() => total,
        Some(run) if run.stack.has_own_schedule() => (unplayed().trainable)(job, run),
        Some(_) => ops::trainable(&ops::lowering(job)),
        None => total,
    }
}

/// Keys and values of one token: the cache with a context of one token and one sequence, which
/// every window holds. Of a model with layers that keep a state, what a second token adds.
fn kv_cache_per_token(job: &Job) -> Option<Bytes> {
    let Run::Serving(_) = job.run() else { return None };
    if job.model().is_counted_and_served() {
        return Some(ops::cache_of_token(&ops::lowering(job)));
    }
    let cached = |context_length| -> Bytes {
        let with = ops::Lowering {
            context_length,
            concurrent_sequences: 1,
            block_size: 1,
            shared_prefix: 0,
            source_length: 0,
            ..ops::lowering(job)
        };
        let cache = ops::cache(&with, 0..job.model().num_hidden_layers);
        cache
            .op
            .tensors
            .iter()
            .zip(&cache.layers)
            .map(|(tensor, layers)| tensor.bytes() * *layers)
            .sum()
    };
    Some(if job.model().mixer().is_some() {
        cached(2).saturating_sub(cached(1))
    } else {
        cached(1)
    })
}
