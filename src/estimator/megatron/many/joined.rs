//! What every stage of a pipeline has in flight and beside it.

use super::super::fsdp::{Moving, Weights, moves};
use super::super::lines::{Buffers, Content, Stands};
use super::super::schedule::{self, Held, PerKind, Stage};
use super::super::{At, Kind, SLOTS, on_device, slot};
use super::frame::{Alike, Frame, along, along_each, sum};
use super::{Kinds, States};
use crate::config::{Job, TrainingRun, Work};
use crate::estimator::law::Memo;
use crate::estimator::ledger::{MemoryKind, first_over};
use crate::units::Bytes;

/// One stage of a pipeline, and all that may be most in flight at each place of its schedule.
pub(super) struct Staged {
    pub stage: Stage,
    pub sort: Sort,
    /// The sort's place among all.
    pub place: usize,
    most: [Vec<Held>; SLOTS],
    /// What one micro-batch of its first chunk holds by itself: no schedule holds less.
    least: [Option<Held>; SLOTS],
}

/// What the parameters and buffers of a stage depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sort {
    layers: PerKind,
    embedding: bool,
    head: bool,
    messages: u64,
}

/// What every stage has in flight and beside it, of one frame and one pipeline; states and what moves come on top.
#[derive(Default)]
pub(super) struct Joined {
    /// Places of frame and pipeline.
    pub of: Option<(usize, usize)>,
    /// Of every stage.
    lines: Vec<Lines>,
    /// Sequences more than one with which [`Joined::stages`] is made.
    more: Option<u64>,
    /// What a block saves, by kind.
    saved: [Bytes; 2],
    stages: Vec<Highest>,
}

/// What a stage may need in backward, with any number of sequences.
#[derive(Default)]
struct Lines {
    /// In the head, and in blocks: all that may be highest there.
    moments: [Vec<Line>; 2],
    /// With one micro-batch of its first chunk alone, whatever the schedule: with one and with two sequences.
    alone: Vec<[Bytes; 2]>,
    /// What may be most in flight at the place at hand.
    in_flight: Vec<Line>,
}

/// A moment with one and with two sequences, and how early it comes.
#[derive(Clone, Copy)]
struct Line {
    order: usize,
    bytes: [Alike; 2],
}

/// One stage's part of [`Joined`] with one number of them.
#[derive(Clone, Copy)]
struct Highest {
    buffers: [Bytes; 2],
    /// The highest moment in the head, and in blocks.
    moments: [Option<Moment>; 2],
    /// The higher of these.
    moment: Option<Moment>,
    /// All of it.
    total: Bytes,
}

/// A moment of backward: how early it comes, and what it needs.
#[derive(Clone, Copy)]
struct Moment {
    order: usize,
    bytes: Alike,
}

impl Moment {
    /// Whether it is higher, or as high and earlier.
    fn is_before(&self, other: &Self) -> bool {
        let (own, others) = (sum(&self.bytes), sum(&other.bytes));
        own > others || (own == others && self.order < other.order)
    }

    /// The higher one; what is no higher than the optimizer's step, which comes before all, is none.
    fn higher([head, block]: [Option<Self>; 2]) -> Option<Self> {
        let highest = match (head, block) {
            (Some(head), Some(block)) => Some(if block.is_before(&head) { block } else { head }),
            (head, block) => head.or(block),
        };
        highest.filter(|moment| sum(&moment.bytes) > Bytes::ZERO)
    }
}

/// The stages that can hold most.
pub(super) fn staged(job: &Job, run: &TrainingRun, sorts: &mut Memo<Sort, ()>) -> Vec<Staged> {
    let staged = |stage: Stage| {
        let mut most: [Vec<Held>; SLOTS] = Default::default();
        schedule::play(&stage, &schedule::passes(&job.pipeline(), stage.index), |held, at| {
            let held = on_device(job, held);
            if let Some(most) = most.get_mut(slot(at))
                && !most.iter().any(|known| known.covers(&held))
            {
                most.retain(|known| !held.covers(known));
                most.push(held);
            }
        });
        let mut least = [None; SLOTS];
        let work = if job.pipeline().schedule.facts().splits_backward { Work::BackwardInput } else { Work::Backward };
        let alone = [Work::Forward, work].map(|work| schedule::Pass { chunk: 0, work, times: 1 });
        schedule::play(&stage, &alone, |held, at| {
            if let Some(least) = least.get_mut(slot(at)) {
                least.get_or_insert(on_device(job, held));
            }
        });
        let sort = Sort { layers: stage.layers(), embedding: stage.embeds(), head: stage.ends(), messages: stage.messages };
        Staged { stage, sort, place: sorts.place(sort, || ()), most, least }
    };
    schedule::stages(job, run).into_iter().map(staged).collect()
}

impl Joined {
    /// Joins a frame and a pipeline.
    pub fn join(&mut self, of: (usize, usize), frame: &Frame, stages: &[Staged]) {
        self.of = Some(of);
        self.more = None;
        self.lines.resize_with(stages.len(), Lines::default);
        self.lines.iter_mut().zip(stages).for_each(|(lines, staged)| lines.join(frame, staged));
    }

    /// Works out every stage with as many sequences as the job has.
    pub fn with(&mut self, (job, run): (&Job, &TrainingRun), frame: &Frame, (stages, weights): (&[Staged], &[(Weights, Bytes)])) {
        let more = job.micro_batch_size().saturating_sub(1);
        if self.more == Some(more) {
            return;
        }
        self.more = Some(more);
        self.saved = frame.saved(more);
        let (content, scores) = (Content::of(job, run), frame.scores(more));
        let Self { stages: found, lines, .. } = self;
        found.clear();
        found.extend(stages.iter().zip(lines).zip(weights).map(|((staged, lines), (_, dummies))| {
            let Sort { layers, head, messages, .. } = staged.sort;
            let experts = layers.of(Kind::Experts) > 0;
            let stands = Stands { head, experts, messages, dummies: *dummies, scores };
            let buffers = Buffers::of(run, &content, &stands).sums();
            let moments = lines.moments.each_ref().map(|lines| highest(lines, more));
            let moment = Moment::higher(moments);
            let total = sum(&buffers) + moment.map_or(Bytes::ZERO, |moment| sum(&moment.bytes));
            Highest { buffers, moments, moment, total }
        }));
    }

    /// Bytes by kind of the stage that holds most, and the first kind with which any takes more than there is.
    pub fn most(
        &self,
        (job, run): (&Job, &TrainingRun),
        (stages, weights): (&[Staged], &[(Weights, Bytes)]),
        states: &[States],
    ) -> (Kinds, Option<MemoryKind>) {
        let capacity = job.cluster().accelerator.memory;
        let moves = moves(job);
        let mut best: Option<(Bytes, Kinds)> = None;
        let mut over: Option<MemoryKind> = None;
        for (((staged, (weights, _)), highest), states) in stages.iter().zip(weights).zip(&self.stages).zip(states) {
            let (moment, beside) = if moves {
                let moving = Moving::with(job, run, (weights, staged.sort.layers), &self.saved);
                highest.and(run, &moving)
            } else {
                (highest.moment, highest.total)
            };
            let total = states.total + beside;
            // Of equal ones the first.
            let is_most = best.is_none_or(|best| total > best.0);
            if !is_most && total <= capacity {
                continue;
            }
            let kinds = highest.on(states.kinds, moment);
            if total > capacity {
                over = first_over(&kinds, capacity).into_iter().chain(over).min();
            }
            if is_most {
                best = Some((total, kinds));
            }
        }
        (best.map_or_else(Kinds::default, |best| best.1), over)
    }

    /// What no more sequences, and no fewer micro-batches of them, make less: states, buffers and a micro-batch alone.
    pub fn floor(&self, states: &[States]) -> Bytes {
        let more = self.more.unwrap_or(0);
        let floors = self.lines.iter().zip(&self.stages).zip(states).map(|((lines, highest), states)| {
            let alone = lines.alone.iter().map(|line| along(*line, more)).max().unwrap_or(Bytes::ZERO);
            states.total + sum(&highest.buffers) + alone
        });
        floors.max().unwrap_or(Bytes::ZERO)
    }
}

impl Lines {
    /// What a frame needs at the places that a stage's schedule comes to.
    fn join(&mut self, frame: &Frame, staged: &Staged) {
        let Self { moments: [head, blocks], alone, in_flight } = self;
        head.clear();
        blocks.clear();
        alone.clear();
        let places = frame.tops.iter().zip(&staged.most).zip(&staged.least);
        for (slot, ((tops, most), least)) in places.enumerate().filter(|(_, ((tops, _), _))| !tops.is_empty()) {
            let lines = if slot == 0 { &mut *head } else { &mut *blocks };
            // What is in flight comes in no order: of equal ones the first.
            in_flight.clear();
            for held in most {
                keep(in_flight, Line { order: 0, bytes: frame.sizes.each_ref().map(|sizes| sizes.each(held)) });
            }
            for (held, (order, top)) in in_flight.iter().flat_map(|held| tops.iter().map(move |top| (held, top))) {
                let mut bytes = *top;
                for ([saved, passing], [kept, brought_back]) in bytes.iter_mut().zip(held.bytes) {
                    *saved += kept;
                    *passing += brought_back;
                }
                keep(lines, Line { order: *order, bytes });
            }
            if let Some(least) = least {
                let held = frame.sizes.each_ref().map(|sizes| sizes.of(least));
                for (_, [one, two]) in tops {
                    let [first, second] = held;
                    keep_course(alone, [sum(one) + first, sum(two) + second]);
                }
            }
        }
    }
}

impl Line {
    /// Bytes with one sequence, and what each further one adds.
    fn course(&self) -> (Bytes, Bytes) {
        let [one, two] = self.bytes.each_ref().map(sum);
        (one, two.saturating_sub(one))
    }
}

/// Keeps a line unless another is as high with every number of sequences, and comes no later where it is no higher.
fn keep(lines: &mut Vec<Line>, line: Line) {
    let covers = |line: &Line, other: &Line| {
        let ((first, more), (others, others_more)) = (line.course(), other.course());
        first >= others && more >= others_more && (first > others || line.order <= other.order)
    };
    if !lines.iter().any(|known| covers(known, &line)) {
        lines.retain(|known| !covers(&line, known));
        lines.push(line);
    }
}

/// The same of bytes alone.
fn keep_course(lines: &mut Vec<[Bytes; 2]>, line: [Bytes; 2]) {
    let covers = |[one, two]: &[Bytes; 2], [other, others]: &[Bytes; 2]| {
        one >= other && two.saturating_sub(*one) >= others.saturating_sub(*other)
    };
    if !lines.iter().any(|known| covers(known, &line)) {
        lines.retain(|known| !covers(&line, known));
        lines.push(line);
    }
}

/// The highest of some moments with so many sequences more than one.
fn highest(lines: &[Line], more: u64) -> Option<Moment> {
    let moment = |line: &Line| Moment { order: line.order, bytes: along_each(&line.bytes, more) };
    // Of equal ones the first.
    lines.iter().map(moment).reduce(|best, other| if other.is_before(&best) { other } else { best })
}

impl Highest {
    /// The highest moment with what moves then, and all beside states.
    fn and(&self, run: &TrainingRun, moving: &Moving) -> (Option<Moment>, Bytes) {
        let in_block = At::Block { kind: Kind::Dense, recomputed: false, split: false, place: 0 };
        let mut moments = self.moments;
        for (moment, at) in moments.iter_mut().zip([At::Head(0), in_block]) {
            if let (Some(Moment { bytes: [_, passing], .. }), true) = (moment, moving.moves()) {
                *passing += moving.bytes(run, at);
            }
        }
        let moment = Moment::higher(moments);
        (moment, sum(&self.buffers) + moment.map_or(Bytes::ZERO, |moment| sum(&moment.bytes)))
    }

    /// Buffers and a moment on top of states.
    fn on(&self, mut kinds: Kinds, moment: Option<Moment>) -> Kinds {
        let [temporary, framework] = self.buffers;
        let [saved, passing] = moment.map_or_else(Alike::default, |moment| moment.bytes);
        for (kind, bytes) in
            [(MemoryKind::Activation, saved), (MemoryKind::Temporary, temporary + passing), (MemoryKind::Framework, framework)]
        {
            if let Some(sum) = kinds.get_mut(kind.index()) {
                *sum += bytes;
            }
        }
        kinds
    }
}
