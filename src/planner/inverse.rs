//! Inverse questions: the longest sequence and the largest batch that fit.

use crate::config::{Job, Run};
use crate::estimator::memory_by_kind;
use crate::units::Bytes;

/// Largest inputs that still fit on one accelerator's memory with this layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inverse {
    /// Longest sequence or context, tokens; `None` if not even one token fits.
    pub longest_seq: Option<u64>,
    /// Largest micro-batch (training) or number of concurrent sequences (serving); `None` if not even one fits.
    pub largest_batch: Option<u64>,
}

/// Longest length that is looked for, tokens.
const LONGEST: u64 = 1 << 27;
/// Largest batch that is looked for.
const LARGEST: u64 = 1 << 20;

/// Both answers by bisection; memory never falls when length or batch grows.
pub fn inverse(job: &Job) -> Inverse {
    Inverse {
        longest_seq: largest(LONGEST, |tokens| fits(&job.with_seq_length(tokens))),
        largest_batch: largest(LARGEST, |batch| fits(&with_batch(job, batch))),
    }
}

/// Whether the job's memory fits.
pub(super) fn fits(job: &Job) -> bool {
    memory_by_kind(job).into_iter().sum::<Bytes>() <= job.cluster().accelerator.memory
}

/// The same job with another micro-batch, the global batch grown to hold one per rank; or other concurrent sequences.
pub(super) fn with_batch(job: &Job, batch: u64) -> Job {
    let ranks = job.layout().d();
    job.with_run(|run| match run {
        Run::Training(run) => {
            run.micro_batch_size = Some(batch);
            run.global_batch_size = run.global_batch_size.max(batch.saturating_mul(ranks));
        }
        Run::Serving(run) => run.concurrent_sequences = batch,
    })
}

/// The largest value in `1..=most` that passes, if smaller values pass whenever larger ones do.
pub(super) fn largest(most: u64, passes: impl Fn(u64) -> bool) -> Option<u64> {
    if !passes(1) {
        return None;
    }
    let (mut good, mut bad) = (1, most.saturating_add(1));
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if passes(middle) { good = middle } else { bad = middle }
    }
    Some(good)
}
