//! Memory of one job at many lengths.

use std::array;
use std::sync::OnceLock;

use super::{Grid, Highest, Law, SURELY_EXACT, Top, bytes};
use crate::config::Job;
use crate::estimator::{Requests, alone_run, listed, memory_by_kind, overhead, timeline};
use crate::units::Bytes;

/// Memory by kind, in the order of [`MemoryKind::ALL`](crate::estimator::MemoryKind::ALL).
type Kinds = [Bytes; 7];

/// [`memory_by_kind`] of one job at many lengths, for curves and searches.
///
/// A training's record at three lengths tells the laws of others, which a fourth record must
/// confirm: of all lengths beyond the last bend, and of those up to the first. What lies between is
/// estimated each by itself. Both give the same bytes, which a property test holds.
#[derive(Clone, Debug)]
pub struct Lengths {
    job: Job,
    known: Known,
}

/// How other lengths are told.
#[derive(Clone, Debug)]
enum Known {
    Trained(Trained),
    Served(Requests),
    Nothing,
}

impl Lengths {
    /// Makes ready for questions about a job: memory at many lengths, for which each part is worked
    /// out once.
    pub fn of(job: &Job) -> Self {
        let known = match Requests::of(job) {
            Some(served) => Known::Served(served),
            None => Trained::of(job).map_or(Known::Nothing, Known::Trained),
        };
        Self { job: job.clone(), known }
    }

    /// Returns the job at its own length.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Returns memory with other numbers of sequences at once; `None` when training.
    pub const fn requests(&self) -> Option<&Requests> {
        match &self.known {
            Known::Served(served) => Some(served),
            Known::Trained(_) | Known::Nothing => None,
        }
    }

    /// Returns a step in tokens: lengths that are multiples of it are answered most quickly.
    pub const fn grid(&self) -> u64 {
        match &self.known {
            Known::Trained(trained) => trained.beyond.grid.step,
            Known::Served(_) | Known::Nothing => 1,
        }
    }

    /// Returns memory at the peak by kind at that length in tokens, bytes, in the order of
    /// [`MemoryKind::ALL`](crate::estimator::MemoryKind::ALL).
    ///
    /// ```
    /// use headroom::estimator::{Lengths, memory_by_kind};
    /// use headroom::scenario::codec::decode;
    ///
    /// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve();
    /// let job = job.map_err(|problems| problems.len())?;
    /// let lengths = Lengths::of(&job);
    /// for tokens in [1024, 4096] {
    ///     assert_eq!(lengths.memory(tokens), memory_by_kind(&job.with_seq_length(tokens)));
    /// }
    /// # Ok::<(), usize>(())
    /// ```
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
#[derive(Clone, Debug)]
struct Trained {
    beyond: Laws,
    /// The last length before anything bends.
    first_bend: u64,
    /// Up to there; made once somebody asks, as curves do.
    before: OnceLock<Option<Laws>>,
}

impl Trained {
    /// The laws beyond the last bend; `None` where [`Laws::of`] knows none, and for losses that
    /// bend at every length.
    fn of(job: &Job) -> Option<Self> {
        let run = job.training()?;
        let (loss, sequences) = (run.loss.kernel(run.stack).bend()?, job.micro_batch_size());
        let window = job.model().sliding_window.unwrap_or(0);
        let last_bend = loss.div_ceil(sequences).max(window);
        let first_bend =
            [loss / sequences, window].into_iter().filter(|bend| *bend > 0).min().unwrap_or(0);
        let grid = Grid::past(last_bend, Self::step(job));
        // The law is confirmed where it is asked about most: around the job's own length.
        let further = (job.seq_length().saturating_sub(grid.first) / grid.step).max(3);
        Some(Self { beyond: Laws::of(job, grid, further)?, first_bend, before: OnceLock::new() })
    }

    /// Lengths that tensor-parallel ranks share evenly, so that no rounding comes between.
    fn step(job: &Job) -> u64 {
        job.layout().t().saturating_mul(2)
    }

    /// Bytes by kind at the peak of the stage that holds most, overheads included; `None` for
    /// lengths that are estimated by themselves.
    fn memory(&self, job: &Job, length: u64) -> Option<Kinds> {
        let laws = if length > self.first_bend { &self.beyond } else { self.before(job)? };
        laws.memory(job, length)
    }

    /// The laws before the first bend, confirmed at their end; `None` where there are no more
    /// lengths than records tell.
    fn before(&self, job: &Job) -> Option<&Laws> {
        let laws = || {
            let grid = Grid::past(0, Self::step(job));
            let further =
                (self.first_bend / grid.step).checked_sub(1).filter(|further| *further > 3)?;
            Laws::of(job, grid, further)
        };
        self.before.get_or_init(laws).as_ref()
    }
}

/// Lengths of which the same laws tell.
#[derive(Clone, Debug)]
struct Laws {
    grid: Grid,
    moments: Highest<3, [Law<3>; 7]>,
    /// Sums below this are surely exact: tensors that ranks share may be whole in the record.
    limit: i128,
}

impl Laws {
    /// Asks the record at the first three lengths of a grid, and `further` steps past the first;
    /// `None` where it has no moments to compare, where they do not follow a law, or where sizes
    /// are too large for whole numbers.
    fn of(job: &Job, grid: Grid, further: u64) -> Option<Self> {
        let limit = SURELY_EXACT / i128::from(job.layout().t());
        let record = |k: u64| moments(&job.with_seq_length(grid.argument(k)));
        let [one, two, three] = [record(0)?, record(1)?, record(2)?];
        let confirming = record(further)?;
        if [two.len(), three.len(), confirming.len()] != [one.len(); 3] {
            return None;
        }
        let mut highest = Highest::default();
        for (order, (((one, two), three), confirming)) in
            one.iter().zip(&two).zip(&three).zip(&confirming).enumerate()
        {
            let values =
                |kind: usize| [one[kind], two[kind], three[kind]].map(|bytes| i128::from(bytes.0));
            let holds: [Law<3>; 7] = array::from_fn(|kind| Law::through(values(kind)));
            let height = holds.iter().fold(Law::ZERO, |sum, law| sum + *law);
            let holds_there = holds
                .iter()
                .zip(confirming)
                .all(|(law, bytes)| law.at(further.into()) == i128::from(bytes.0));
            if height.at(further.into()).max(height.at(2)) >= limit || !holds_there {
                return None;
            }
            highest.keep(Top { height, order, holds });
        }
        Some(Self { grid, moments: highest, limit })
    }

    /// As [`Trained::memory`].
    fn memory(&self, job: &Job, length: u64) -> Option<Kinds> {
        let k = i128::from(self.grid.steps(length)?);
        let (_, top) = self.moments.at(k).filter(|(height, _)| *height < self.limit)?;
        Some(overhead::on_top(job, top.holds.map(|law| bytes(law.at(k)))))
    }
}

/// Bytes by kind that a training's model holds on the device, at every moment of every stage that
/// may be its highest, in the order of the step; `None` where a record has no such moments.
fn moments(job: &Job) -> Option<Vec<Kinds>> {
    if let Some(run) = alone_run(job) {
        return timeline::moments(job, run);
    }
    let is_listed = job.training().is_some_and(|run| run.stack.is_listed());
    is_listed.then(|| listed::moments(job))
}
