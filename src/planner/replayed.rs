//! The answers about a training as PyTorch's allocator gives them: the other answers keep an
//! assumed share of the memory free for it.

use super::count::{Runnable, first_that};
use super::inverse::{inverse, with_batch};
use crate::config::{Job, Run};
use crate::estimator::{
    DeviceMemory, Lengths, NotReplayed, device_memory, finds_room, least_memory,
};
use crate::units::Bytes;

/// The most counts of accelerators that are replayed.
const MOST_COUNTS: usize = 8;
/// The number of steps into which the range of possible lengths is divided; between two of them
/// nothing is tried.
const STEPS: u64 = 256;

/// The answers of a replay that hands every tensor to PyTorch's allocator: whether a training runs,
/// and how much larger it may become.
///
/// Each length, batch and count was replayed to the end of its steps on the job's device and runs;
/// the next larger one that was tried does not. An allocator that finds room for one size may find
/// none for a smaller one, so values between the tried ones are not certain.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The memory of the job itself, as its device shows it.
    pub memory: DeviceMemory,
    /// The least memory of a device on which it runs.
    pub least: Bytes,
    /// Longest sequence, tokens, to about half a percent; `None` if none of those tried runs.
    pub longest_seq: Option<u64>,
    /// Largest micro-batch, sequences; `None` if not even one runs.
    pub largest_batch: Option<u64>,
    /// The smallest count of accelerators that runs, of the first eight on which the tensors fit.
    pub runnable: Option<Runnable>,
}

/// Returns whether a training runs as PyTorch's allocator hands memory out, and how much larger it
/// may become: bytes, tokens, sequences, accelerators. It takes about thirty replays.
///
/// The allocator never holds less than the tensors take without any reserve, so sizes beyond that
/// are not tried.
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known.
///
/// # Example
/// ```
/// # use headroom::planner::replayed;
/// # use headroom::scenario::codec::decode;
/// let job = decode("v2&m=llama3.2-1b&n=1&gpu=h100-80").scenario.resolve();
/// let job = job.map_err(|problems| problems.len())?;
/// let found = replayed(&job).map_err(|_| 0_usize)?;
/// assert!(found.memory.fits);
/// assert!(found.longest_seq.is_some_and(|tokens| tokens >= job.seq_length()));
/// # Ok::<(), usize>(())
/// ```
pub fn replayed(job: &Job) -> Result<Replayed, NotReplayed> {
    let memory = device_memory(job)?;
    let runs = |job: &Job| finds_room(job) == Ok(true);
    let bare = job.with_fragmentation_percent(0.0);
    let lengths = Lengths::of(&bare);
    let most = inverse(&lengths);
    let batch = job.training().and_then(|run| run.micro_batch_size).unwrap_or(1);
    let longest_seq = most.longest_seq.and_then(|most| {
        let step = lengths.grid().saturating_mul((most / lengths.grid().max(1) / STEPS).max(1));
        last_that_runs(
            Asked { now: job.seq_length(), most, step, runs_now: memory.fits },
            |tokens| runs(&job.with_seq_length(tokens)),
        )
    });
    let largest_batch = most.largest_batch.and_then(|most| {
        last_that_runs(Asked { now: batch, most, step: 1, runs_now: memory.fits }, |batch| {
            runs(&of_whole_batches(&with_batch(job, batch)))
        })
    });
    Ok(Replayed {
        memory,
        least: least_memory(job)?,
        longest_seq,
        largest_batch,
        runnable: first_that(&bare, MOST_COUNTS, runs),
    })
}

/// The job with as many sequences in a step as its micro-batches and ranks make: a rule forbids any
/// other number.
fn of_whole_batches(job: &Job) -> Job {
    let ranks = job.layout().d();
    job.with_run(|run| {
        if let Run::Training(run) = run {
            let together = run.micro_batch_size.unwrap_or(1).saturating_mul(ranks);
            run.global_batch_size = run.global_batch_size.next_multiple_of(together.max(1));
        }
    })
}

/// A question for the largest value that runs.
#[derive(Clone, Copy)]
struct Asked {
    /// The job's own value, and whether the job runs with it.
    now: u64,
    runs_now: bool,
    /// The largest value that can run at all.
    most: u64,
    /// Multiples of this are tried.
    step: u64,
}

/// The largest value that was tried and runs. The search starts from the top, goes down in steps
/// that double, and then between the last two.
fn last_that_runs(asked: Asked, mut runs: impl FnMut(u64) -> bool) -> Option<u64> {
    let Asked { now, runs_now, most, step } = asked;
    let known = runs_now.then_some(now);
    // A value larger than one that does not run is not offered, though the allocator may find room
    // for it.
    let top = if runs_now { most } else { most.min(now.saturating_sub(1)) } / step.max(1);
    let lowest = known.map_or(0, |now| now / step.max(1));
    let (mut bad, mut back) = (top.saturating_add(1), 1_u64);
    let mut good = loop {
        let next = bad.saturating_sub(back).max(lowest);
        if next <= lowest || next == 0 {
            break lowest;
        }
        if runs(next * step) {
            break next;
        }
        (bad, back) = (next, back.saturating_mul(2));
    };
    while bad.saturating_sub(good) > 1 {
        let middle = good + (bad - good) / 2;
        if runs(middle * step) { good = middle } else { bad = middle }
    }
    Some(good * step).filter(|value| *value > 0).max(known)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{Asked, last_that_runs};

    /// The answer for values that run up to `limit`, and how many values were tried.
    fn found(asked: Asked, limit: u64) -> (Option<u64>, u32) {
        let times = Cell::new(0);
        let answer = last_that_runs(asked, |value| {
            times.set(times.get() + 1);
            value <= limit
        });
        (answer, times.get())
    }

    #[test]
    fn it_is_the_last_step_that_runs() {
        for limit in 0..300 {
            for (most, step) in [(256, 1), (250, 7), (3, 1), (0, 1), (5, 8)] {
                for now in [1, 4, 40, 200] {
                    let asked = Asked { now, runs_now: now <= limit, most, step };
                    let all = (1..=most / step).map(|steps| steps * step);
                    let of_steps =
                        all.filter(|value| *value <= limit && (now <= limit || *value < now)).max();
                    let wanted = of_steps.max(Some(now).filter(|now| *now <= limit));
                    let (answer, times) = found(asked, limit);
                    assert_eq!(
                        answer, wanted,
                        "limit {limit}, most {most}, step {step}, now {now}"
                    );
                    assert!(times <= 18, "{times}");
                }
            }
        }
    }
}
