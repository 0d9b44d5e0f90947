//! What every stage of a pipeline has in flight and beside it.

use super::super::fsdp::{Moving, Weights};
use super::super::lines::{Buffers, Stands};
use super::super::schedule::{self, Held, PerKind, Stage};
use super::super::{At, Kind, SLOTS, on_device, slot};
use super::Kinds;
use super::frame::{Alike, Block, Frame, along_each, sum};
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
    held: Vec<[Lines; SLOTS]>,
    /// With how many sequences [`Joined::stages`] is made.
    sequences: Option<u64>,
    block: Block,
    pub stages: Vec<Highest>,
}

/// All that may be most in flight at a place of a stage's schedule, with one and with two sequences.
type Lines = Vec<[Alike; 2]>;

/// One stage's part of [`Joined`] with one number of them.
#[derive(Clone, Copy)]
pub(super) struct Highest {
    buffers: [Bytes; 2],
    tops: [Option<(usize, Alike)>; SLOTS],
    /// What no more sequences, and no fewer micro-batches of them, make less.
    pub floor: Bytes,
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
        self.held.resize_with(stages.len(), Default::default);
        for (places, staged) in self.held.iter_mut().zip(stages) {
            for (lines, most) in places.iter_mut().zip(&staged.most) {
                lines.clear();
                lines.extend(most.iter().map(|held| frame.sizes.each_ref().map(|sizes| sizes.each(held))));
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
        self.stages.clear();
        for ((staged, held), (_, dummies)) in stages.iter().zip(&self.held).zip(weights) {
            let Sort { layers, head, messages, .. } = staged.sort;
            let experts = layers.of(Kind::Experts) > 0;
            let stands = Stands { head, experts, messages, dummies: *dummies, scores: self.block.scores };
            let mut tops = self.block.tops;
            for (top, held) in tops.iter_mut().zip(held) {
                // Of equal ones the first.
                let held = held.iter().map(|line| along_each(line, more));
                let held = held.reduce(|best, other| if sum(&other) > sum(&best) { other } else { best });
                *top = top
                    .zip(held)
                    .map(|((order, [saved, passing]), [kept, brought_back])| (order, [saved + kept, passing + brought_back]));
            }
            let buffers = Buffers::of(job, run, &stands).sums();
            let alone = self.block.tops.iter().zip(&staged.least).filter_map(|(top, least)| {
                let (_, top) = top.as_ref()?;
                Some(sum(top) + self.block.sizes.of(least.as_ref()?))
            });
            let floor = sum(&buffers) + alone.max().unwrap_or(Bytes::ZERO);
            self.stages.push(Highest { buffers, tops, floor });
        }
    }

    /// Bytes by kind of the stage that holds most, and the first kind with which any takes more than there is.
    pub fn most(
        &self,
        (job, run): (&Job, &TrainingRun),
        (stages, weights): (&[Staged], &[(Weights, Bytes)]),
        states: &[Kinds],
    ) -> (Kinds, Option<MemoryKind>) {
        let capacity = job.cluster().accelerator.memory;
        let mut best: Option<(Bytes, Kinds)> = None;
        let mut over: Option<MemoryKind> = None;
        for (((staged, (weights, _)), highest), states) in stages.iter().zip(weights).zip(&self.stages).zip(states) {
            let mut kinds = *states;
            let moving = Moving::with(job, run, (weights, staged.sort.layers), &self.block.sizes.whole);
            highest.add_to(&mut kinds, run, &moving);
            let total: Bytes = kinds.into_iter().sum();
            if total > capacity {
                over = first_over(&kinds, capacity).into_iter().chain(over).min();
            }
            // Of equal ones the first.
            if best.as_ref().is_none_or(|best| total > best.0) {
                best = Some((total, kinds));
            }
        }
        (best.map_or_else(Kinds::default, |best| best.1), over)
    }
}

impl Highest {
    /// Adds buffers and the highest moment; where none is higher than the optimizer's step, buffers alone.
    fn add_to(&self, kinds: &mut Kinds, run: &TrainingRun, moving: &Moving) {
        let mut add = |kind: MemoryKind, bytes: Bytes| {
            if let Some(sum) = kinds.get_mut(kind.index()) {
                *sum += bytes;
            }
        };
        let [temporary, framework] = self.buffers;
        add(MemoryKind::Temporary, temporary);
        add(MemoryKind::Framework, framework);
        let in_block = At::Block { kind: Kind::Dense, recomputed: false, split: false, place: 0 };
        let moved = if moving.moves() { [At::Head(0), in_block].map(|at| moving.bytes(run, at)) } else { Alike::default() };
        let mut best: Option<(Bytes, usize, Alike)> = None;
        for (slot, top) in self.tops.iter().enumerate() {
            let Some((order, [saved, passing])) = *top else { continue };
            let [in_head, in_block] = moved;
            let alike = [saved, passing + if slot == 0 { in_head } else { in_block }];
            let total = sum(&alike);
            // Of equal ones the earlier; the optimizer's step comes before all.
            if best.map_or(total > Bytes::ZERO, |best| total > best.0 || (total == best.0 && order < best.1)) {
                best = Some((total, order, alike));
            }
        }
        if let Some((_, _, [saved, passing])) = best {
            add(MemoryKind::Activation, saved);
            add(MemoryKind::Temporary, passing);
        }
    }
}
