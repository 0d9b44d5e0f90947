//! One optimizer step as a sequence of allocations and releases, and the moment at which most is
//! allocated.
//!
//! The step is played on the tape of [`crate::ops`]: parameters, forward layer by layer, loss,
//! backward layer by layer with gradients appearing, recomputed blocks, gathered weights and
//! reduced gradients, the optimizer's temporaries. Blocks that are alike are played a few times and
//! stand for their like: every repetition adds the same, so its highest moment is in the first or
//! in the last.

mod asked;
mod beside;
mod blocks;
mod build;
mod coordinator;
mod evaluation;
mod ground;
mod groups;
mod libraries;
mod lines;
mod loading;
mod moments;
mod optimizer;
mod plan;
mod play;
mod ranks;
mod sequence;
mod stage_0;
mod stretch;
mod totals;

use super::law::bytes;
use super::ledger::LineItem;
use super::stage::{self, Stage};
use super::{Moment, overhead};
use crate::config::{Job, TrainingRun};
use crate::ops::modules::BESIDE;
use crate::ops::tape::{Entry, KINDS, Kind, Segment, Tape, Totals, When};
use crate::units::Bytes;
pub use asked::{AskedMoment, AskedTensor, asked_tensors};
use beside::{Beside, add_blocks};
pub use groups::{GRADIENT_REDUCTION, REDUCTION_BUCKET};
pub(super) use moments::moments;
pub(super) use plan::is_played;
pub(super) use plan::runs_in_stages;
use plan::{Plan, Shares};
pub(super) use ranks::Ranks;
pub(super) use sequence::sequence_of;
pub use sequence::{Sequence, TensorEvent, sequence};
pub use stretch::{Phase, Stretch, Timeline};
use totals::{by_kind, grown, ledger_kind, plus, sum};

/// Memory taken (positive) or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEvent {
    /// The operation it happens in.
    pub op: &'static str,
    /// The tensor.
    pub name: &'static str,
    /// Bytes.
    pub bytes: i128,
}

/// Returns everything that one training step of a job takes (positive bytes) and frees (negative
/// bytes) on one rank, in order and block by block.
///
/// Empty when serving, and for kernels whose step is not played operator by operator.
pub fn events(job: &Job) -> Vec<MemoryEvent> {
    let Some(run) = job.training() else { return Vec::new() };
    if run.stack.has_own_schedule() {
        return super::megatron::events(job, run);
    }
    if !is_played(run) {
        return Vec::new();
    }
    let played = Played::new(job, run, stage::only(job), true);
    let state = played.tape.state();
    let event = |entry: &Entry| {
        let (id, sign) = match entry {
            Entry::Taken(id) => (*id, 1),
            Entry::Freed(id) => (*id, -1),
            Entry::Turned(_) => return None,
        };
        let storage = state.storages.get(usize::try_from(id).ok()?)?;
        Some(MemoryEvent {
            op: state.op_name(storage.op).0,
            name: storage.name,
            bytes: sign * i128::from(storage.bytes),
        })
    };
    state.log.iter().filter_map(event).collect()
}

/// A played step with the corrections for blocks that were not played.
pub(super) struct Played<'a> {
    job: &'a Job,
    plan: Plan<'a>,
    tape: Tape,
    /// Storages before forward.
    before: usize,
    /// Storages that ranks share.
    shares: Shares,
    beside: Beside,
    /// Each stretch of the tape with what stands beside it: its memory at start, peak and end.
    marks: Vec<Mark>,
    /// Bytes that one micro-batch keeps for backward.
    retained: Totals,
    /// An evaluation beside the memory that stays between steps, where there is one.
    evaluation: Option<Box<Self>>,
}

/// A stretch of the tape, corrected.
#[derive(Clone, Copy)]
struct Mark {
    /// Its place among the stretches of the tape.
    at: usize,
    segment: Segment,
    times: u64,
    start: Totals,
    peak: Totals,
    end: Totals,
    /// True if the last repetition is the highest, not the first.
    last: bool,
}

impl<'a> Played<'a> {
    /// Plays a stage; `every` block by itself, or blocks alike once for all.
    pub fn new(job: &'a Job, run: &TrainingRun, stage: Stage, every: bool) -> Self {
        let plan = Plan::of(job, run, stage, every);
        let evaluation = Self::evaluation(job, run, &plan);
        Self { evaluation, ..Self::by(job, plan, play::play) }
    }

    /// A tape on which that was played, summed up.
    fn by(job: &'a Job, plan: Plan<'a>, play: fn(&Tape, &Plan<'_>) -> (usize, Shares)) -> Self {
        let tape = Tape::new();
        let (before, shares) = play(&tape, &plan);
        let beside = Beside::of(&tape.state(), before, &plan);
        let (marks, retained, evaluation) = (Vec::new(), [0; KINDS], None);
        let mut played =
            Self { job, plan, tape, before, shares, beside, marks, retained, evaluation };
        played.correct();
        played
    }

    /// Walks over the stretches and adds what blocks not played hold at each.
    fn correct(&mut self) {
        let state = self.tape.state();
        let mut beside = [0; KINDS];
        add_blocks(&mut beside, &state, &self.beside.standing, 1);
        let mut marks = std::mem::take(&mut self.marks);
        marks.clear();
        marks.reserve(state.segments.len());
        let stretches = state.segments.iter().zip(&state.held).enumerate();
        let steps = stretches.filter(|(_, (segment, _))| segment.when != When::Before);
        for ((at, (segment, held)), elsewhere) in steps.zip(&self.beside.elsewhere) {
            let times = if segment.when == When::Step { 1 } else { self.plan.times(segment.layer) };
            let (mut more, mut last) = (beside, false);
            if times > 1 || !elsewhere.is_empty() {
                more = grown(&beside, held, times - 1);
                add_blocks(&mut more, &state, elsewhere, -1);
                last = sum(&more) > sum(&beside);
            }
            let at_peak = if last { &more } else { &beside };
            marks.push(Mark {
                at,
                segment: *segment,
                times,
                start: plus(&held.start, &beside),
                peak: plus(&held.peak, at_peak),
                end: plus(&held.end, &more),
                last,
            });
            beside = more;
        }
        drop(state);
        self.marks = marks;
        self.hold_in_flight();
        self.send_away();
    }

    /// Takes off the memory that waits on the host.
    fn send_away(&mut self) {
        let away = self.plan.away;
        if !away.activations && !away.parameters {
            return;
        }
        let activations: Vec<i128> =
            self.marks.iter().map(|mark| lines::away(self, mark)).collect();
        for (mark, bytes) in self.marks.iter_mut().zip(activations) {
            for moment in [&mut mark.start, &mut mark.peak, &mut mark.end] {
                if away.parameters
                    && let Some(weights) = moment.get_mut(Kind::Parameter as usize)
                {
                    *weights = 0;
                }
                if let Some(saved) = moment.get_mut(Kind::Activation as usize) {
                    *saved = (*saved - bytes).max(0);
                }
            }
        }
    }

    /// Becomes another stage that holds the same blocks and ends, or, where all blocks are `alike`,
    /// as many: only the micro-batches in flight differ. `false` if it does not.
    pub fn turn_into(&mut self, stage: &Stage, alike: bool) -> bool {
        if !self.plan.stage.holds_as(stage, alike) {
            return false;
        }
        self.plan.stage.in_flight = stage.in_flight;
        self.correct();
        true
    }

    /// The most activations that wait in host memory.
    pub fn most_away(&self) -> Bytes {
        bytes(self.marks.iter().map(|mark| lines::away(self, mark)).max().unwrap_or(0))
    }

    /// Every line alive when the optimizer steps.
    pub fn lines_of_step(&self) -> Vec<LineItem> {
        self.marks.last().map_or_else(Vec::new, |mark| lines::lines(self, mark))
    }

    /// Adds the memory that the further micro-batches in flight keep.
    fn hold_in_flight(&mut self) {
        let forward = |mark: &&Mark| mark.segment.when == When::Forward;
        let (first, last) = (self.marks.iter().find(forward), self.marks.iter().rfind(forward));
        let (Some(first), Some(last)) = (first, last) else { return };
        for ((retained, start), end) in self.retained.iter_mut().zip(first.start).zip(last.end) {
            *retained = end - start;
        }
        let others = i128::from(self.plan.stage.in_flight.saturating_sub(1));
        if others == 0 {
            return;
        }
        let more = self.retained.map(|bytes| bytes * others);
        let in_flight = |mark: &&mut Mark| mark.segment.when != When::Reduction;
        for mark in self.marks.iter_mut().filter(in_flight) {
            for moment in [&mut mark.start, &mut mark.peak, &mut mark.end] {
                *moment = plus(moment, &more);
            }
        }
    }

    fn highest(&self) -> Option<usize> {
        // Of equal ones the first.
        (0..self.marks.len()).rev().max_by_key(|at| self.marks.get(*at).map(|mark| sum(&mark.peak)))
    }

    /// Bytes by kind at the peak, evaluations included.
    pub fn peak(&self) -> [Bytes; 7] {
        self.higher().own_peak()
    }

    /// Bytes by kind at the peak of the played stretches.
    fn own_peak(&self) -> [Bytes; 7] {
        self.highest()
            .and_then(|at| self.marks.get(at))
            .map_or([Bytes::ZERO; 7], |mark| by_kind(&mark.peak))
    }

    /// The name of the peak's moment.
    pub fn name(&self) -> &'static str {
        let played = self.higher();
        played.highest().and_then(|at| played.marks.get(at)).map_or("", |mark| played.moment(mark))
    }

    /// When a stretch is highest; a pipeline stage without the model's ends has moments of its own.
    fn moment(&self, mark: &Mark) -> &'static str {
        let (segment, stage, head) = (&mark.segment, &self.plan.stage, self.plan.head());
        // The loss may stand behind the model, as a layer of its own.
        let layer = segment.layer.min(head);
        let (first, last) = (layer == 1, layer + 1 == head);
        let (own_first, own_last) = (first && !stage.embedding, last && !stage.head);
        if self.plan.evaluation.is_some() {
            return "during evaluation";
        }
        match segment.when {
            When::Forward if segment.layer >= BESIDE => "when images are looked at",
            When::Backward if segment.layer >= BESIDE && segment.recomputing => {
                "when backward recomputes a block of the vision tower"
            }
            When::Backward if segment.layer >= BESIDE => "when backward is in the vision tower",
            When::Before => "before the step",
            When::Step => "when the optimizer steps",
            When::Reduction => "when gradients are reduced",
            When::Forward if layer == head && stage.head => "when the loss is computed",
            When::Forward if layer == head => "when the stage hands its output on",
            When::Forward if layer == 0 && stage.embedding => "when tokens are embedded",
            When::Forward if layer == 0 => "when the stage receives its input",
            When::Forward => "during forward",
            When::Backward if layer == head && stage.head => "when the backward of the loss begins",
            When::Backward if layer == head => "when the gradient of the output arrives",
            When::Backward if layer == 0 => "when backward ends",
            When::Backward if segment.recomputing && own_last => {
                "when backward recomputes the last block of the stage"
            }
            When::Backward if segment.recomputing && last => {
                "when backward recomputes the last block"
            }
            When::Backward if segment.recomputing => "when backward recomputes a block",
            When::Backward if own_last => "when backward enters the last block of the stage",
            When::Backward if last => "when backward enters the last block",
            When::Backward if own_first => "when backward reaches the first block of the stage",
            When::Backward if first => "when backward reaches the first block",
            When::Backward => "during backward",
        }
    }

    /// The moments compared, overheads included: the highest of each name, in the order of the
    /// step.
    pub fn moments(&self) -> Vec<Moment> {
        let mut moments: Vec<Moment> = Vec::new();
        let evaluated = self
            .evaluation
            .iter()
            .flat_map(|played| played.marks.iter().map(|mark| (played.as_ref(), mark)));
        for (played, mark) in self.marks.iter().map(|mark| (self, mark)).chain(evaluated) {
            let total = overhead::on_top(self.job, by_kind(&mark.peak)).into_iter().sum();
            let name = played.moment(mark);
            match moments.iter_mut().find(|moment| moment.name == name) {
                Some(known) => known.total = known.total.max(total),
                None => moments.push(Moment { name, total }),
            }
        }
        moments
    }

    /// The stretches for the page.
    pub fn timeline(&self) -> Timeline {
        let mut stretches = self.stretches();
        let own = stretches.len();
        let mut peak = self.highest().unwrap_or(0);
        if let Some(evaluation) = &self.evaluation {
            stretches.extend(evaluation.stretches());
            if !std::ptr::eq(self.higher(), self) {
                peak = own + evaluation.highest().unwrap_or(0);
            }
        }
        Timeline { stretches, peak }
    }

    fn stretches(&self) -> Vec<Stretch> {
        let state = self.tape.state();
        let stretch = |mark: &Mark| {
            let played = usize::from(mark.segment.layer)
                .checked_sub(1)
                .and_then(|at| self.plan.played.get(at));
            let reversed = matches!(mark.segment.when, When::Backward | When::Reduction);
            Stretch {
                phase: match mark.segment.when {
                    _ if self.plan.evaluation.is_some() => Phase::Evaluation,
                    When::Step => Phase::Step,
                    When::Backward | When::Reduction => Phase::Backward,
                    When::Before | When::Forward => Phase::Forward,
                },
                layer: played.map(|played| {
                    if reversed { played.index + played.times - 1 } else { played.index }
                }),
                times: mark.times,
                name: self.moment(mark),
                operation: state.op_name(mark.segment.op).0,
                start: by_kind(&mark.start),
                peak: by_kind(&mark.peak),
                end: by_kind(&mark.end),
            }
        };
        self.marks.iter().map(stretch).collect()
    }

    /// Bytes by kind when forward has ended.
    pub fn after_forward(&self) -> [Bytes; 7] {
        let mark = self.marks.iter().rfind(|mark| mark.segment.when == When::Forward);
        mark.map_or([Bytes::ZERO; 7], |mark| by_kind(&mark.end))
    }

    /// Every line alive at the peak, in the order of the kinds.
    pub fn lines(&self) -> Vec<LineItem> {
        let played = self.higher();
        played
            .highest()
            .and_then(|at| played.marks.get(at))
            .map_or_else(Vec::new, |mark| lines::lines(played, mark))
    }
}

/// The played step of the stage that holds most.
pub(super) fn most_loaded<'a>(job: &'a Job, run: &TrainingRun, every: bool) -> Played<'a> {
    let mut stages =
        stage::stages(job).into_iter().map(|stage| Played::new(job, run, stage, every));
    let first = stages.next().unwrap_or_else(|| Played::new(job, run, stage::only(job), every));
    let total = |played: &Played<'_>| played.peak().into_iter().sum::<Bytes>();
    stages.fold(first, |best, other| if total(&other) > total(&best) { other } else { best })
}

impl Played<'_> {
    /// The pipeline stage, counted from 0.
    pub fn stage(&self) -> u64 {
        self.plan.stage.index
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroU64;

    use super::{Played, stage};
    use crate::config::{
        Accelerator, Cluster, Job, ModelConfig, Overheads, ParallelLayout, PeakRates, Run,
        TrainingRun,
    };
    use crate::units::Bytes;

    /// Names of the moments of both stages of a pipeline of two.
    fn names() -> [BTreeSet<&'static str>; 2] {
        let two = NonZeroU64::MIN.saturating_add(1);
        let layout = ParallelLayout { pipeline_model_parallel_size: two, ..ParallelLayout::SINGLE };
        let accelerator = Accelerator {
            memory: Bytes(Bytes::GIB),
            memory_bandwidth: None,
            peak: PeakRates::default(),
            accelerators_per_node: 8,
            price_per_hour: 0.0,
        };
        let overheads = Overheads::NONE;
        let run = Run::Training(TrainingRun {
            global_batch_size: 4,
            micro_batch_size: Some(1),
            ..TrainingRun::plain()
        });
        let model = ModelConfig { num_hidden_layers: 8, ..ModelConfig::plain() };
        let job = Job::new(
            model,
            run,
            layout,
            Cluster {
                accelerator,
                overheads,
                speed: crate::config::Speed::GENERIC,
                host: crate::config::Host::ASSUMED,
                grid_grams_per_kwh: 0.0,
            },
        )
        .expect("a valid job");
        let run = job.training().expect("a training");
        let stages = stage::stages(&job);
        [0, 1].map(|at: usize| {
            Played::new(&job, run, stages[at].clone(), false)
                .moments()
                .iter()
                .map(|moment| moment.name)
                .collect()
        })
    }

    #[test]
    fn a_stage_has_only_the_moments_of_what_it_holds() {
        let [first, last] = names();
        for (stage, own, other) in [
            (&first, "when tokens are embedded", "when the stage receives its input"),
            (&last, "when the stage receives its input", "when tokens are embedded"),
            (&first, "when the stage hands its output on", "when the loss is computed"),
            (&last, "when the loss is computed", "when the stage hands its output on"),
            (
                &first,
                "when the gradient of the output arrives",
                "when the backward of the loss begins",
            ),
            (
                &last,
                "when the backward of the loss begins",
                "when the gradient of the output arrives",
            ),
            (
                &first,
                "when backward enters the last block of the stage",
                "when backward enters the last block",
            ),
            (
                &last,
                "when backward reaches the first block of the stage",
                "when backward reaches the first block",
            ),
        ] {
            assert!(stage.contains(own) && !stage.contains(other), "{own}: {stage:?}");
        }
    }
}
