//! Memory of one job at many lengths.

use std::array;

use super::{Grid, Highest, Law, SURELY_EXACT, Top, bytes};
use crate::config::Job;
use crate::estimator::{Requests, alone_run, listed, memory_by_kind, overhead, timeline};
use crate::units::Bytes;

/// Memory by kind, in the order of [`MemoryKind::ALL`](crate::estimator::MemoryKind::ALL).
type Kinds = [Bytes; 7];

/// [`memory_by_kind`] of one job at many lengths, for curves and searches.
///
/// A training's record at three lengths tells the laws of all longer ones, which a fourth record must confirm; other lengths are
/// estimated each by itself. Both give the same bytes, which a property test holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Lengths {
    job: Job,
    known: Known,
}

/// How other lengths are told.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    Trained(Trained),
    Served(Requests),
    Nothing,
}

impl Lengths {
    /// Gets ready for questions about a job.
    pub fn of(job: &Job) -> Self {
        let known = match Requests::of(job) {
            Some(served) => Known::Served(served),
            None => Trained::of(job).map_or(Known::Nothing, Known::Trained),
        };
        Self { job: job.clone(), known }
    }

    /// The job, at its own length.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Memory with other numbers of sequences; `None` when training.
    pub const fn requests(&self) -> Option<&Requests> {
        match &self.known {
            Known::Served(served) => Some(served),
            Known::Trained(_) | Known::Nothing => None,
        }
    }

    /// Lengths that are multiples of this are told most quickly.
    pub const fn grid(&self) -> u64 {
        match &self.known {
            Known::Trained(trained) => trained.grid.step,
            Known::Served(_) | Known::Nothing => 1,
        }
    }

    /// Memory by kind at that length, in the order of [`MemoryKind::ALL`](crate::estimator::MemoryKind::ALL).
    pub fn memory(&self, length: u64) -> Kinds {
        let known = match &self.known {
            Known::Trained(trained) => trained.memory(&self.job, length),
            Known::Served(served) => Some(served.memory(&self.job.with_seq_length(length))),
            Known::Nothing => None,
        };
        known.unwrap_or_else(|| memory_by_kind(&self.job.with_seq_length(length)))
    }
}

/// The laws of a training in its length.
#[derive(Clone, Debug, PartialEq)]
struct Trained {
    grid: Grid,
    moments: Highest<3, [Law<3>; 7]>,
    /// Sums below this are surely exact: tensors that ranks share may be whole in the record.
    limit: i128,
}

impl Trained {
    /// Asks the record at four lengths; `None` where it has no moments to compare, where they do not follow a law, or where sizes are too
    /// large for whole numbers.
    fn of(job: &Job) -> Option<Self> {
        let run = job.training()?;
        let chunk = run.loss.kernel(run.stack).bend()?.div_ceil(job.micro_batch_size());
        let bend = chunk.max(job.model().sliding_window.unwrap_or(0));
        // Lengths that tensor-parallel ranks share evenly, so that no rounding comes between.
        let ranks = job.layout().t();
        let (grid, limit) = (Grid::past(bend, ranks.saturating_mul(2)), SURELY_EXACT / i128::from(ranks));
        let record = |k: u64| moments(&job.with_seq_length(grid.argument(k)));
        // The law is confirmed where it is asked about most: around the job's own length.
        let further = (job.seq_length().saturating_sub(grid.first) / grid.step).max(3);
        let [one, two, three] = [record(0)?, record(1)?, record(2)?];
        let confirming = record(further)?;
        if [two.len(), three.len(), confirming.len()] != [one.len(); 3] {
            return None;
        }
        let mut highest = Highest::default();
        for (order, (((one, two), three), confirming)) in one.iter().zip(&two).zip(&three).zip(&confirming).enumerate() {
            let values = |kind: usize| [one[kind], two[kind], three[kind]].map(|bytes| i128::from(bytes.0));
            let holds: [Law<3>; 7] = array::from_fn(|kind| Law::through(values(kind)));
            let height = holds.iter().fold(Law::ZERO, |sum, law| sum + *law);
            let holds_there = holds.iter().zip(confirming).all(|(law, bytes)| law.at(further.into()) == i128::from(bytes.0));
            if height.at(further.into()).max(height.at(2)) >= limit || !holds_there {
                return None;
            }
            highest.keep(Top { height, order, holds });
        }
        Some(Self { grid, moments: highest, limit })
    }

    /// Bytes by kind at the peak of the stage that holds most, overheads included; `None` for lengths that are estimated by themselves.
    fn memory(&self, job: &Job, length: u64) -> Option<Kinds> {
        let k = i128::from(self.grid.steps(length)?);
        let (_, top) = self.moments.at(k).filter(|(height, _)| *height < self.limit)?;
        Some(overhead::on_top(job, top.holds.map(|law| bytes(law.at(k)))))
    }
}

/// Bytes by kind that a training's model holds on the device, at every moment of every stage that may be its highest, in the order of the
/// step; `None` where a record has no such moments.
fn moments(job: &Job) -> Option<Vec<Kinds>> {
    if let Some(run) = alone_run(job) {
        return timeline::moments(job, run);
    }
    let is_listed = job.training().is_some_and(|run| run.stack.is_listed());
    is_listed.then(|| listed::moments(job))
}
