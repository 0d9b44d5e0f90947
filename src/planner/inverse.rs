//! Inverse questions: the longest sequence and the largest batch that fit.

use crate::config::{Job, Run};
use crate::estimator::memory_by_kind;
use crate::units::{Bytes, ceil_u64, to_f64};

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

/// Both answers by search; memory never falls when length or batch grows.
pub fn inverse(job: &Job) -> Inverse {
    Inverse {
        longest_seq: longest(job, LONGEST),
        largest_batch: largest(LARGEST, job.cluster().accelerator.memory, |batch| total(&with_batch(job, batch))),
    }
}

/// The longest sequence or context up to `most` tokens that fits.
pub(super) fn longest(job: &Job, most: u64) -> Option<u64> {
    largest(most, job.cluster().accelerator.memory, |tokens| total(&job.with_seq_length(tokens)))
}

/// The job's memory.
fn total(job: &Job) -> Bytes {
    memory_by_kind(job).into_iter().sum()
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

/// The largest value in `1..=most` whose memory has room, if memory never falls as the value grows.
///
/// Memory is close to a line or a square of the value, so that a straight line between a value that fits and one that does not points near
/// the answer; every second step halves the range by ratio, which bounds the steps whatever the curve.
fn largest(most: u64, room: Bytes, memory: impl Fn(u64) -> Bytes) -> Option<u64> {
    let ((mut good, mut below), (mut bad, mut above)) = ((1, memory(1)), (most, memory(most)));
    if below > room {
        return None;
    }
    if above <= room {
        return Some(most);
    }
    let mut straight = true;
    while bad - good > 1 {
        let guess = if straight {
            let share = (room.as_f64() - below.as_f64()) / (above.as_f64() - below.as_f64());
            good.saturating_add(ceil_u64(to_f64(bad - good) * share))
        } else {
            ceil_u64((to_f64(good) * to_f64(bad)).sqrt())
        };
        straight = !straight;
        let guess = guess.clamp(good + 1, bad - 1);
        let here = memory(guess);
        if here <= room { (good, below) = (guess, here) } else { (bad, above) = (guess, here) }
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::largest;
    use crate::units::Bytes;

    /// The answer, and how many amounts were looked at.
    fn found(most: u64, room: u64, memory: impl Fn(u64) -> u64) -> (Option<u64>, u32) {
        let looked = Cell::new(0);
        let answer = largest(most, Bytes(room), |value| {
            looked.set(looked.get() + 1);
            Bytes(memory(value))
        });
        (answer, looked.get())
    }

    #[test]
    fn it_is_the_last_that_fits() {
        let curves: [fn(u64) -> u64; 5] =
            [|x| 100 + 7 * x, |x| 3 * x * x + x, |_| 50, |x| x.div_ceil(64) * 1000, |x| if x < 900 { 1 } else { 1_000_000_000 }];
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
        let (answer, looks) = found(1 << 27, 80_000_000_000, |x| 20_000_000_000 + 4 * x * x + 100_000 * x);
        assert_eq!(answer, Some(110_610));
        assert!(looks <= 22, "{looks}");
    }
}
