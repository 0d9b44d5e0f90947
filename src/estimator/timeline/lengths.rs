//! Memory at many lengths from three plays.
//!
//! While the same operators run in the same order, every tensor's size is a polynomial of the length, of degree two at most (scores
//! are its square). Three plays tell these polynomials exactly, in whole numbers. So is every sum of sizes: what is alive at any moment
//! of any longer step is known without playing it, and of all moments only those are kept that are the highest at some length.
//! Windows and the loss's chunks bend sizes at some length, so shorter steps are played themselves.

use super::{Like, Played, by_kind};
use crate::config::{Job, TrainingRun};
use crate::estimator::course::{self, Course, Grid, SURELY_EXACT, at};
use crate::estimator::ledger::fullest;
use crate::estimator::stage::{self, Stage};
use crate::ops::tape::{Entry, KINDS, Kind, State, Totals, When};
use crate::units::Bytes;

/// Courses by the tape's kinds.
type Courses = [Course; KINDS];

/// The lengths at which a job is played.
fn grid(job: &Job) -> Grid {
    let chunk = job.training().and_then(|run| run.stack.modules().loss.chunk_tokens());
    let chunk = chunk.map_or(0, |tokens| tokens.div_ceil(job.micro_batch_size()));
    // Lengths that tensor-parallel ranks share evenly, so that no rounding comes between.
    Grid::past(chunk.max(job.model().sliding_window.unwrap_or(0)), job.layout().t().saturating_mul(2))
}

/// The step of every stage at all lengths.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::estimator) struct Lengths {
    grid: Grid,
    stages: Vec<Vec<Stretch>>,
}

/// What is held at one moment, at all lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Held {
    sum: Course,
    kinds: Courses,
}

impl Held {
    fn add(&mut self, kind: Kind, course: &Course, times: i128) {
        if let Some(sum) = self.kinds.get_mut(kind as usize) {
            *sum = plus(*sum, course, times);
            self.sum = plus(self.sum, course, times);
        }
    }

    fn add_all(&mut self, more: &Self, times: i128) {
        for (sum, more) in self.kinds.iter_mut().zip(&more.kinds) {
            *sum = plus(*sum, more, times);
        }
        self.sum = plus(self.sum, &more.sum, times);
    }

    fn add_like(&mut self, sizes: &[Course], (kinds, blocks): (&[Kind], &[Like]), sign: i128) {
        for (id, others) in blocks {
            let found = usize::try_from(*id).ok().and_then(|at| sizes.get(at).zip(kinds.get(at)));
            if let Some((course, kind)) = found {
                self.add(*kind, course, sign * i128::from(*others));
            }
        }
    }
}

/// A stretch of the step at all lengths.
#[derive(Clone, Debug, PartialEq)]
struct Stretch {
    /// What may be its highest moment, in order.
    peaks: Vec<Held>,
    /// What blocks that were not played hold beside it in the first of its repetitions, and in the last.
    beside: [Held; 2],
}

impl Lengths {
    /// Plays a job at three lengths; `None` where the three do not run alike, or what is alive partly waits in host memory.
    pub fn of(job: &Job, run: &TrainingRun) -> Option<Self> {
        let offload = job.layout().offload;
        if offload.parameters || offload.activations {
            return None;
        }
        let grid = grid(job);
        let jobs = grid.lengths().map(|length| job.with_seq_length(length));
        let [one, ..] = &jobs;
        let stages = stage::stages(one).into_iter().map(|stage| stretches(&jobs, run, stage)).collect::<Option<_>>()?;
        Some(Self { grid, stages })
    }

    /// Lengths past the bend are told where they are multiples of this.
    pub const fn grid(&self) -> u64 {
        self.grid.step()
    }

    /// Bytes by kind at the peak of the stage that holds most; `None` for lengths that must be played.
    pub fn memory(&self, length: u64) -> Option<[Bytes; 7]> {
        let k = i128::from(self.grid.steps(length)?);
        let stages: Vec<_> = self.stages.iter().map(|stretches| highest(stretches, k)).collect::<Option<_>>()?;
        Some(fullest(stages.into_iter()))
    }
}

/// Bytes by kind at the highest moment of all, that many steps past the first length.
fn highest(stretches: &[Stretch], k: i128) -> Option<[Bytes; 7]> {
    let mut best: Option<(i128, &Held, &Held)> = None;
    for Stretch { peaks, beside: [first, last] } in stretches {
        let (in_first, in_last) = (at(&first.sum, k), at(&last.sum, k));
        let (beside, more) = if in_last > in_first { (last, in_last) } else { (first, in_first) };
        for peak in peaks {
            let total = at(&peak.sum, k) + more;
            // Of equal ones the first.
            if best.is_none_or(|(highest, ..)| total > highest) {
                best = Some((total, peak, beside));
            }
        }
    }
    let (total, peak, beside) = best?;
    let mut totals: Totals = [0; KINDS];
    for ((total, peak), beside) in totals.iter_mut().zip(&peak.kinds).zip(&beside.kinds) {
        *total = at(peak, k) + at(beside, k);
    }
    (total < SURELY_EXACT).then(|| by_kind(&totals))
}

fn plus([f, a, b]: Course, more: &Course, times: i128) -> Course {
    let [more_f, more_a, more_b] = more;
    [f + more_f * times, a + more_a * times, b + more_b * times]
}

/// Whether one course is nowhere below another, and above it everywhere if that is asked for. Each of the three terms only grows.
const fn covers([f, a, b]: &Course, [low_f, low_a, low_b]: &Course, above: bool) -> bool {
    *f >= *low_f && *a >= *low_a && *b >= *low_b && !(above && *f == *low_f)
}

/// The stretches of a stage, from three plays.
fn stretches(jobs: &[Job; 3], run: &TrainingRun, stage: Stage) -> Option<Vec<Stretch>> {
    let [one, two, three] = jobs.each_ref().map(|job| Played::new(job, run, stage, false));
    if !(one.tape.runs_like(&two.tape) && one.tape.runs_like(&three.tape)) {
        return None;
    }
    let all = one.tape.sizes().into_iter().zip(two.tape.sizes()).zip(three.tape.sizes());
    let sizes: Vec<Course> = all.map(|((f, g), h)| course::through([f, g, h])).collect::<Option<_>>()?;
    let state = one.tape.state();
    let moments = moments(&state, &sizes);
    let (born, became): (Vec<Kind>, Vec<Kind>) = state.storages.iter().map(|storage| (storage.born, storage.kind)).unzip();
    let mut beside = Held::default();
    beside.add_like(&sizes, (&born, &one.beside.standing), 1);
    let (mut stretches, mut retained) = (Vec::with_capacity(moments.len()), Held::default());
    for ((mark, (start, peaks, end)), elsewhere) in one.marks.iter().zip(moments).zip(&one.beside.elsewhere) {
        let mut more = beside;
        more.add_all(&end, i128::from(mark.times) - 1);
        more.add_all(&start, 1 - i128::from(mark.times));
        more.add_like(&sizes, (&became, elsewhere), -1);
        if mark.segment.when == When::Forward {
            for (held, sign) in [(&end, 1), (&more, 1), (&start, -1), (&beside, -1)] {
                retained.add_all(held, sign);
            }
        }
        stretches.push(Stretch { peaks, beside: [beside, more] });
        beside = more;
    }
    let others = i128::from(one.plan.stage.in_flight.saturating_sub(1));
    for beside in stretches.iter_mut().flat_map(|stretch| &mut stretch.beside) {
        beside.add_all(&retained, others);
    }
    Some(stretches)
}

/// What is held at the start, at what may be the peak, and at the end of every stretch of the step.
fn moments(state: &State, sizes: &[Course]) -> Vec<(Held, Vec<Held>, Held)> {
    let mut kinds: Vec<Kind> = state.storages.iter().map(|storage| storage.born).collect();
    let mut moments = Vec::with_capacity(state.segments.len());
    let mut held = Held::default();
    for segment in &state.segments {
        let start = held;
        let mut peaks = vec![held];
        for entry in state.log.get(segment.begins..segment.ends).unwrap_or_default() {
            let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
            let found = usize::try_from(*id).ok().and_then(|at| sizes.get(at).zip(kinds.get_mut(at)));
            let Some((course, kind)) = found else { continue };
            match entry {
                Entry::Taken(_) => {
                    held.add(*kind, course, 1);
                    if !peaks.iter().any(|peak| covers(&peak.sum, &held.sum, false)) {
                        peaks.retain(|peak| !covers(&held.sum, &peak.sum, true));
                        peaks.push(held);
                    }
                }
                Entry::Freed(_) => held.add(*kind, course, -1),
                Entry::Turned(_) => {
                    held.add(*kind, course, -1);
                    *kind = Kind::Gradient;
                    held.add(*kind, course, 1);
                }
            }
        }
        if segment.when != When::Before {
            moments.push((start, peaks, held));
        }
    }
    moments
}
