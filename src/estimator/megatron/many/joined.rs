//! What every stage of a pipeline has in flight and beside it.

use super::super::fsdp::{Moving, Weights, moves};
use super::super::lines::{Buffers, Content, Stands};
use super::super::schedule::{self, Held, PerKind, Stage};
use super::super::{At, Kind, SLOTS, on_device, slot};
use super::frame::{Alike, Block, Frame, along_each, sum};
use super::{Kinds, States};
use crate::config::{Job, TrainingRun, Work};
use crate::estimator::ledger::{MemoryKind, first_over};
use crate::estimator::memo::Memo;
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
    held: Vec<Vec<InFlight>>,
    /// With how many sequences [`Joined::stages`] is made.
    sequences: Option<u64>,
    block: Block,
    stages: Vec<Highest>,
}

/// What may be most in flight at a place of a stage's schedule, with one and with two sequences.
struct InFlight {
    slot: usize,
    line: [Alike; 2],
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
        self.sequences = None;
        self.held.resize_with(stages.len(), Vec::new);
        for (lines, staged) in self.held.iter_mut().zip(stages) {
            lines.clear();
            for (slot, most) in staged.most.iter().enumerate().filter(|(slot, _)| frame.comes_to(*slot)) {
                let from = lines.len();
                for held in most {
                    let line = frame.sizes.each_ref().map(|sizes| sizes.each(held));
                    // Of equal ones the first; one that is never higher is nothing.
                    if !lines.iter().skip(from).any(|known| is_covered(&line, &known.line)) {
                        lines.push(InFlight { slot, line });
                    }
                }
            }
        }
    }

    /// Works out every stage with as many sequences as the job has.
    pub fn with(&mut self, (job, run): (&Job, &TrainingRun), frame: &Frame, (stages, weights): (&[Staged], &[(Weights, Bytes)])) {
        let sequences = job.micro_batch_size();
        if self.sequences == Some(sequences) {
            return;
        }
        self.sequences = Some(sequences);
        let more = sequences.saturating_sub(1);
        frame.with(more, &mut self.block);
        let content = Content::of(job, run);
        let Self { block, stages: found, held, .. } = self;
        found.clear();
        found.extend(stages.iter().zip(held).zip(weights).map(|((staged, held), (_, dummies))| {
            let Sort { layers, head, messages, .. } = staged.sort;
            let experts = layers.of(Kind::Experts) > 0;
            let stands = Stands { head, experts, messages, dummies: *dummies, scores: block.scores };
            let buffers = Buffers::of(run, &content, &stands).sums();
            let moments = moments(held, block, more);
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
                let moving = Moving::with(job, run, (weights, staged.sort.layers), &self.block.sizes.whole);
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
    pub fn floor(&self, stages: &[Staged], states: &[States]) -> Bytes {
        let floors = stages.iter().zip(&self.stages).zip(states).map(|((staged, highest), states)| {
            let alone = self.block.tops.iter().zip(&staged.least).filter_map(|(top, least)| {
                let (_, top) = top.as_ref()?;
                Some(sum(top) + self.block.sizes.of(least.as_ref()?))
            });
            states.total + sum(&highest.buffers) + alone.max().unwrap_or(Bytes::ZERO)
        });
        floors.max().unwrap_or(Bytes::ZERO)
    }
}

/// Whether another line is as high or higher with every number of sequences.
fn is_covered([one, two]: &[Alike; 2], by: &[Alike; 2]) -> bool {
    let [first, second] = by;
    sum(first) >= sum(one) && sum(second).saturating_sub(sum(first)) >= sum(two).saturating_sub(sum(one))
}

/// The highest moments of a stage in the head and in blocks.
fn moments(held: &[InFlight], block: &Block, more: u64) -> [Option<Moment>; 2] {
    let mut highest = [None::<Moment>; 2];
    let [head, blocks] = &mut highest;
    for InFlight { slot, line } in held {
        let Some((order, [saved, passing])) = block.tops.get(*slot).copied().flatten() else { continue };
        let [kept, brought_back] = along_each(line, more);
        let moment = Moment { order, bytes: [saved + kept, passing + brought_back] };
        let known = if *slot == 0 { &mut *head } else { &mut *blocks };
        if known.is_none_or(|known| moment.is_before(&known)) {
            *known = Some(moment);
        }
    }
    highest
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
