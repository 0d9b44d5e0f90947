//! Room to grow: the longest sequence, the largest micro-batch, and the rank and format of weights
//! that fit while all else stays.

use super::fixes::Change;
use super::inverse::{Inverse, admitted, largest, room, with_batch};
use crate::config::{BaseFormat, Job, Run, Tuning, WeightFormat};
use crate::estimator::estimate;
use crate::units::Bytes;

/// One input at the largest size that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The change.
    pub change: Change,
    /// Memory with it.
    pub after: Bytes,
}

/// The limits of a job that are known before its growth is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// True if the job runs as it is.
    pub runs: bool,
    /// The longest sequence and the largest batch.
    pub limits: Inverse,
    /// True if these are the allocator's own: then the estimate, which keeps an assumed share free,
    /// is not asked again.
    pub replayed: bool,
    /// The format with the most bits that fits; `None` when training, and where none does.
    pub format: Option<WeightFormat>,
}

/// The largest rank of adapters that is looked for: peft's examples end at 256, and none is wider
/// than a layer.
const LARGEST_RANK: u64 = 4096;

/// Of a job that runs, how much larger one input may become; of a job that does not, the largest
/// size of one input with which it would. Each was estimated with the change and runs.
///
/// # Example
/// ```
/// # use headroom::estimator::{Lengths, estimate};
/// # use headroom::planner::{Change, Known, growth, inverse};
/// # use headroom::scenario::codec::decode;
/// // Llama 3 70B by QLoRA on one GPU of 24 GiB does not fit, whatever the length of its sequences.
/// let job = decode("v1&do=tune&m=llama3-8b&gpu=rtx4090&n=1&ft=qlora&s=65536&b=1&gb=8").scenario.resolve().map_err(|_| ())?;
/// let limits = inverse(&Lengths::of(&job));
/// let known = Known { runs: estimate(&job).runs(), limits, replayed: false, format: None };
/// let found = growth(&job, &known);
/// assert!(found.iter().any(|growth| matches!(growth.change, Change::ContextLength(tokens) if tokens < 65_536)));
/// # Ok::<(), ()>(())
/// ```
pub fn growth(job: &Job, known: &Known) -> Vec<Growth> {
    let runs_now = known.runs;
    // More of what fits already, less of what does not.
    let helps = |now: u64, then: u64| if runs_now { then > now } else { then < now };
    let verified = |change, changed: &Job, replayed: bool| {
        // Where requests wait, as many run as then find room.
        let after = estimate(&admitted(changed.clone()));
        let runs = after.blockers.is_empty() && (replayed || after.runs());
        runs.then(|| Growth { change, after: after.total() })
    };
    let estimated = |(change, changed): (Change, Job)| verified(change, &changed, false);
    let mut found = Vec::with_capacity(4);
    if let Some(longest) = known.limits.longest_seq {
        // Ranks share a sequence evenly, and some kernels take whole tiles.
        let lengths = [longest, longest - longest % 64, longest - longest % 1024];
        let lengths =
            lengths.into_iter().filter(|tokens| *tokens > 0 && helps(job.seq_length(), *tokens));
        let mut tried = lengths.map(|tokens| {
            verified(Change::ContextLength(tokens), &job.with_seq_length(tokens), known.replayed)
        });
        found.extend(tried.find_map(|growth| growth));
    }
    if let Some(most) = known.limits.largest_batch {
        let now = job.micro_batch_size();
        let mut batches = batches(job, most).into_iter().filter(|(_, batch, _)| helps(now, *batch));
        found.extend(
            batches.find_map(|(change, _, changed)| verified(change, &changed, known.replayed)),
        );
    }
    if let Run::Training(run) = job.run() {
        found.extend(rank(job, &run.tuning, helps).and_then(estimated));
        found.extend(whole_weights(job, &run.tuning, runs_now).and_then(estimated));
    }
    if let (Run::Serving(run), Some(format)) = (job.run(), known.format)
        && helps(run.quantization.dtype().bits(), format.dtype().bits())
    {
        let changed = job.with_run(|run| {
            if let Run::Serving(run) = run {
                run.quantization = format;
            }
        });
        found.extend(estimated((Change::Quantization(format), changed)));
    }
    found
}

/// The largest micro-batch, of at most `most` sequences, that the global batch shares out evenly: a
/// divisor of the sequences that each of `ranks` data-parallel ranks takes in one step.
///
/// ```
/// assert_eq!(headroom::planner::even_micro_batch(512, 8, 7), 4);
/// ```
pub fn even_micro_batch(global_batch_size: u64, ranks: u64, most: u64) -> u64 {
    let share = (global_batch_size / ranks.max(1)).max(1);
    let mut batches = (1..=most.min(share)).rev().take(4096);
    batches.find(|batch| share.is_multiple_of(*batch)).unwrap_or(1)
}

/// Batches to try, the best first: the most that memory has room for and the global batch shares
/// out evenly; where that is no more than now, the most with a global batch that grows with it.
fn batches(job: &Job, most: u64) -> Vec<(Change, u64, Job)> {
    let Some(run) = job.training() else {
        return vec![(Change::Requests(most), most, with_batch(job, most))];
    };
    let ranks = job.layout().d();
    let even = even_micro_batch(run.global_batch_size, ranks, most);
    let (all, global) = (with_batch(job, most), most.saturating_mul(ranks));
    let grown = all.with_run(|run| {
        if let Run::Training(run) = run {
            run.global_batch_size = global;
        }
    });
    vec![
        (Change::MicroBatch(even), even, with_batch(job, even)),
        (Change::Batches { micro: most, global }, most, grown),
    ]
}

/// The largest rank of adapters, a power of two, that has room.
fn rank(job: &Job, tuning: &Tuning, helps: impl Fn(u64, u64) -> bool) -> Option<(Change, Job)> {
    if !tuning.method.adapts_linears() {
        return None;
    }
    let with = |rank: u64| {
        job.with_run(|run| {
            if let Run::Training(run) = run {
                run.tuning.r = rank;
            }
        })
    };
    let widest = LARGEST_RANK.min(job.model().hidden_size.max(1));
    // Memory never falls with the rank, so the powers alone are tried.
    let most = largest(u64::from(widest.ilog2()) + 1, |power| room(&with(1 << (power - 1))))?;
    let rank = 1 << (most - 1);
    helps(tuning.r, rank).then(|| (Change::Rank(rank), with(rank)))
}

/// Frozen weights in 16 bits beside adapters, where they stand in four and there is room.
fn whole_weights(job: &Job, tuning: &Tuning, runs_now: bool) -> Option<(Change, Job)> {
    let offered = runs_now && tuning.method.adapts_linears() && tuning.base.is_quantised();
    let changed = || {
        job.with_run(|run| {
            if let Run::Training(run) = run {
                run.tuning = run.tuning.with_adapters(BaseFormat::Weights);
            }
        })
    };
    offered.then(|| (Change::Adapters(BaseFormat::Weights), changed()))
}
