//! Memory at many lengths from three plays.
//!
//! While the same operators run in the same order, every tensor's size is a polynomial of the length, of degree two at most (scores
//! are its square). Three plays tell these polynomials exactly, in whole numbers; any further length replays the same events with
//! other sizes. Windows and the loss's chunks bend sizes at some length, so shorter ones are played themselves.

use super::Played;
use crate::config::{Job, Kernels, TrainingRun};
use crate::estimator::stage::{self, Stage};
use crate::ops::LOSS_CHUNK_TOKENS;
use crate::units::Bytes;

/// Sizes of one storage at the three lengths, as differences: `f + k·a + k(k-1)/2·b`.
type Course = [i128; 3];

/// The step of a stage at three lengths, ready for others.
struct Scaled<'a> {
    played: Played<'a>,
    /// Which course each storage follows.
    follows: Vec<usize>,
    courses: Vec<Course>,
}

/// The three jobs that are played: equally spaced lengths, past the last bend.
pub(in crate::estimator) struct Lengths {
    first: u64,
    step: u64,
    jobs: [Job; 3],
}

impl Lengths {
    /// The lengths at which a job is played.
    pub fn of(job: &Job) -> Self {
        // Lengths that tensor-parallel ranks share evenly, so that no rounding comes between.
        let step = job.layout().t().saturating_mul(2);
        let chunked = job.training().is_some_and(|run| run.kernels == Kernels::Fused);
        let chunk = if chunked { LOSS_CHUNK_TOKENS.div_ceil(job.micro_batch_size()) } else { 0 };
        let bend = chunk.max(job.model().sliding_window.unwrap_or(0)).saturating_add(1);
        let first = bend.div_ceil(step).saturating_mul(step);
        let jobs = [0, 1, 2].map(|k: u64| job.with_seq_length(first.saturating_add(step.saturating_mul(k))));
        Self { first, step, jobs }
    }

    /// Lengths past the bend are told where they are multiples of this.
    pub const fn grid(&self) -> u64 {
        self.step
    }

    /// Whether that length can be told from the others: past the bend, and on the grid.
    pub fn covers(&self, length: u64) -> bool {
        length >= self.first && (length - self.first).is_multiple_of(self.step)
    }

    /// Bytes by kind at the peak of the stage that holds most, for every length it [covers](Self::covers); `None` where the three
    /// plays do not run alike.
    pub fn memory<'a>(&'a self, run: &TrainingRun) -> Option<impl FnMut(u64) -> [Bytes; 7] + use<'a>> {
        let stages = stage::stages(&self.jobs[0]).into_iter();
        let mut scaled: Vec<Scaled<'a>> = stages.map(|stage| self.scaled(run, stage)).collect::<Option<_>>()?;
        let (first, step) = (self.first, self.step);
        Some(move |length: u64| {
            let k = i128::from(length.saturating_sub(first) / step);
            let each = scaled.iter_mut().map(|stage| stage.at(k));
            let total = |kinds: &[Bytes; 7]| kinds.iter().copied().sum::<Bytes>();
            // Of equal ones the first, as where every stage is played.
            each.reduce(|best, other| if total(&other) > total(&best) { other } else { best }).unwrap_or([Bytes::ZERO; 7])
        })
    }

    fn scaled<'a>(&'a self, run: &TrainingRun, stage: Stage) -> Option<Scaled<'a>> {
        let [one, two, three] = self.jobs.each_ref().map(|job| Played::new(job, run, stage, false));
        if !(one.tape.runs_like(&two.tape) && one.tape.runs_like(&three.tape)) {
            return None;
        }
        let (mut follows, mut courses) = (Vec::new(), Vec::<Course>::new());
        for ((f, g), h) in one.tape.sizes().into_iter().zip(two.tape.sizes()).zip(three.tape.sizes()) {
            let [f, g, h] = [f, g, h].map(i128::from);
            let course = [f, g - f, h - 2 * g + f];
            follows.push(courses.iter().position(|known| *known == course).unwrap_or_else(|| {
                courses.push(course);
                courses.len() - 1
            }));
        }
        Some(Scaled { played: one, follows, courses })
    }
}

impl Scaled<'_> {
    /// Bytes by kind at the peak, that many steps past the first length.
    fn at(&mut self, k: i128) -> [Bytes; 7] {
        let size = |[f, a, b]: &Course| {
            let bytes = f + k * a + k * (k - 1) / 2 * b;
            u64::try_from(bytes.max(0)).unwrap_or(u64::MAX)
        };
        let sizes: Vec<u64> = self.courses.iter().map(size).collect();
        let follows = &self.follows;
        self.played.tape.resize(|number| follows.get(number).and_then(|course| sizes.get(*course)).copied().unwrap_or(0));
        self.played.correct();
        self.played.peak()
    }
}
