//! Inverse questions: the longest sequence and the largest batch that fit.

use std::borrow::Cow;

use crate::config::{Job, PositionEmbedding, Run};
use crate::estimator::{Lengths, Requests, has_parts, memory_by_kind};
use crate::units::{Bytes, ceil_u64, to_f64};

/// Largest inputs that still fit on one accelerator's memory with this layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inverse {
    /// Longest sequence or context, tokens; `None` if not even one token fits.
    pub longest_seq: Option<u64>,
    /// Largest micro-batch (training) or number of concurrent sequences (serving); `None` if not
    /// even one fits.
    pub largest_batch: Option<u64>,
}

/// Longest length that is tried, tokens.
const LONGEST: u64 = 1 << 27;
/// Largest batch that is tried.
pub(super) const LARGEST: u64 = 1 << 20;

/// Returns the longest sequence in tokens and the largest batch in sequences with which the job's
/// layout still fits, each with everything else as it is.
///
/// Both are found by search. Assumes that memory never falls when length or batch grows. The global
/// batch grows along where it is smaller than one micro-batch per data-parallel rank. Lengths up to
/// 2²⁷ tokens and batches up to 2²⁰ are tried.
///
/// ```
/// use headroom::estimator::{Lengths, memory_by_kind};
/// use headroom::planner::inverse;
/// use headroom::scenario::codec::decode;
/// use headroom::units::Bytes;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let longest = inverse(&Lengths::of(&job)).longest_seq.expect("one token fits");
/// let total = |tokens| memory_by_kind(&job.with_seq_length(tokens)).into_iter().sum::<Bytes>();
/// let memory = job.cluster().accelerator.memory;
/// assert!(total(longest) <= memory && memory < total(longest + 1));
/// # Ok::<(), usize>(())
/// ```
pub fn inverse(lengths: &Lengths) -> Inverse {
    let job = lengths.job();
    let largest_batch = match lengths.requests() {
        Some(served) => largest(LARGEST, |batch| room_of(served, &with_batch(job, batch))),
        None => largest(LARGEST, |batch| room(&with_batch(job, batch))),
    };
    // Where others wait a sequence may be as long as the room for one.
    let longest_seq = match job.must_hold() {
        Cow::Owned(one) => longest(&Lengths::of(&one)),
        Cow::Borrowed(_) => longest(lengths),
    };
    Inverse { longest_seq, largest_batch }
}

/// The longest length that fits: first among the lengths of the grid, whose memory is worked out
/// quickly, then between two of them.
fn longest(lengths: &Lengths) -> Option<u64> {
    let (job, grid) = (lengths.job(), lengths.grid());
    let room = |tokens: u64| spare(job, lengths.memory(tokens));
    let most = longest_of(job);
    let below = largest(most / grid, |steps| room(steps.saturating_mul(grid)))
        .unwrap_or(0)
        .saturating_mul(grid);
    let further = largest((grid - 1).min(most - below), |tokens| room(below + tokens)).unwrap_or(0);
    Some(below + further).filter(|tokens| *tokens > 0)
}

/// The longest text that is tried, tokens. A decoder beside an encoder reads positions from a
/// table, and no text is longer than that table: Whisper writes 448 tokens for half a minute.
fn longest_of(job: &Job) -> u64 {
    let model = job.model();
    let reads_table = model.position_embedding == PositionEmbedding::Learned
        || model.family.modules().keeps_sines;
    if model.source.is_some() && reads_table {
        model.max_position_embeddings.clamp(1, LONGEST)
    } else {
        LONGEST
    }
}

/// Memory that is left, bytes; negative where some is missing.
fn spare(job: &Job, by_kind: [Bytes; 7]) -> i128 {
    i128::from(job.cluster().accelerator.memory.0)
        - i128::from(by_kind.into_iter().sum::<Bytes>().0)
}

/// Memory that a job leaves whose weights are counted already, bytes.
pub(super) fn room_of(served: &Requests, job: &Job) -> i128 {
    spare(job, served.memory(job))
}

pub(super) fn room(job: &Job) -> i128 {
    spare(job, memory_by_kind(job))
}

/// This job with another micro-batch, the global batch grown to hold one per rank; or with other
/// concurrent sequences.
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

/// The job with as many requests as find room, where its server lets the others wait; at least one.
/// Every other job stays as it is.
///
/// vLLM, `SGLang` and TensorRT-LLM hand the cache out in blocks and start where one request of the
/// whole length fits; their limit on requests is the most that run at once.
pub fn admitted(job: Job) -> Job {
    let Run::Serving(run) = job.run() else { return job };
    if !run.others_wait || run.concurrent_sequences <= 1 || !has_parts(&job) {
        return job;
    }
    let Some(served) = Requests::of(&job) else { return job };
    let found =
        largest(run.concurrent_sequences, |requests| room_of(&served, &with_batch(&job, requests)));
    with_batch(&job, found.unwrap_or(1))
}

/// The largest value in `1..=most` that leaves room, if room never grows with the value.
///
/// Memory is nearly a straight line, so each round guesses where the line ends, tries the neighbour
/// of the guess on the other side, and then halves the remaining range by ratio, which ends the
/// search in any case.
pub(super) fn largest(most: u64, mut room: impl FnMut(u64) -> i128) -> Option<u64> {
    let mut good = (1, room(1));
    if most == 0 || good.1 < 0 {
        return None;
    }
    let mut bad = (most, room(most));
    if bad.1 >= 0 {
        return Some(most);
    }
    let (mut round, mut passed) = (0_u8, true);
    while bad.0 - good.0 > 1 {
        let wide = bad.0 - good.0;
        let next = match round % 3 {
            0 => {
                let share = i128::from(wide) * good.1 / (good.1 - bad.1);
                good.0.saturating_add(u64::try_from(share).unwrap_or(0))
            }
            1 if passed => good.0 + 1,
            1 => bad.0 - 1,
            // The middle by ratio: amounts that grow as a square pull straight guesses to the small
            // end.
            _ => ceil_u64((to_f64(good.0) * to_f64(bad.0)).sqrt()),
        };
        let next = next.clamp(good.0 + 1, bad.0 - 1);
        let left = room(next);
        passed = left >= 0;
        if passed {
            good = (next, left);
        } else {
            bad = (next, left);
        }
        round = round.wrapping_add(1);
    }
    Some(good.0)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::largest;

    /// The answer, and how many amounts were worked out.
    fn found(most: u64, room: u64, memory: impl Fn(u64) -> u64) -> (Option<u64>, u32) {
        let looked = Cell::new(0);
        let answer = largest(most, |value| {
            looked.set(looked.get() + 1);
            i128::from(room) - i128::from(memory(value))
        });
        (answer, looked.get())
    }

    #[test]
    fn it_is_the_last_that_fits() {
        let curves: [fn(u64) -> u64; 5] = [
            |x| 100 + 7 * x,
            |x| 3 * x * x + x,
            |_| 50,
            |x| x.div_ceil(64) * 1000,
            |x| if x < 900 { 1 } else { 1_000_000_000 },
        ];
        for curve in curves {
            for room in [0, 49, 50, 107, 5000, 123_456, 99_999_999] {
                let most = 5000;
                let wanted = (1..=most).rev().find(|value| curve(*value) <= room);
                assert_eq!(found(most, room, curve).0, wanted, "room {room}");
            }
        }
    }

    #[test]
    fn lines_and_squares_need_few_looks() {
        let (answer, looks) = found(1 << 27, 80_000_000_000, |x| 20_000_000_000 + 131_072 * x);
        assert_eq!(answer, Some(457_763));
        assert!(looks <= 8, "{looks}");
        let (answer, looks) =
            found(1 << 27, 80_000_000_000, |x| 20_000_000_000 + 4 * x * x + 100_000 * x);
        assert_eq!(answer, Some(110_610));
        assert!(looks <= 22, "{looks}");
    }
}
