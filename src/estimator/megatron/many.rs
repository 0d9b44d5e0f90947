//! Memory of many layouts of one job under Megatron-LM.
//!
//! A rank's bytes are a sum of parts that depend on few of a layout's numbers each: what one block saves on the tensor, context and
//! expert degrees and the micro-batch; what is in flight on the pipeline; states on what shares them out. Every part is made by the same
//! functions as one estimate's, once for all layouts that agree in what it depends on, and kept. A property test holds that the sums
//! are those of [`peak`](super::peak).

use std::num::NonZeroU64;

use super::fsdp::{Moving, Weights};
use super::lines::{Buffers, Stands, dummies, scores};
use super::schedule::{self, Held, PerKind, Stage};
use super::{Alive, At, Entry, Kind, SLOTS, Scope, Sizes, on_device, slot};
use crate::config::{
    Choice, DataSharding, Job, Offload, ParallelLayout, PipelineSchedule, PipelineSplit, Recompute, TrainingRun, Work,
};
use crate::estimator::ledger::{Ledger, MemoryKind};
use crate::estimator::memo::Memo;
use crate::ops::megatron::{RankModel, rank_model};
use crate::units::Bytes;

/// Bytes by kind.
type Kinds = [Bytes; 7];
/// Bytes saved in forward, and bytes alive for a while.
type Alike = [Bytes; 2];

/// The most sequences, and the most bytes of two of them, for which sizes surely do not saturate.
const SURE: (u64, Bytes) = (1 << 16, Bytes(1 << 44));

const ONE: NonZeroU64 = NonZeroU64::MIN;

/// The parts made so far, of one job's layouts.
#[derive(Default)]
pub(in crate::estimator) struct Many {
    /// By layout, number of sequences if the frame is of one alone, and whether selective recomputation drops something.
    frames: Memo<(ParallelLayout, u64, bool), Frame>,
    shapes: Memo<(ParallelLayout, u64, Recompute), Vec<Staged>>,
    /// Sorts of stages, and layouts by [`of_states`]: their places are short keys for weights and states.
    sorts: Memo<Sort, ()>,
    sharers: Memo<ParallelLayout, ()>,
    /// By [`of_weights`]: one rank's modules; their sizes are not those of the job's activations.
    holders: Memo<ParallelLayout, RankModel>,
    weights: Memo<(usize, usize), (Weights, Bytes)>,
    states: Memo<(usize, usize, DataSharding), Kinds>,
    common: Option<Common>,
    joined: Joined,
    stated: Stated,
}

/// What a layout has in common with others that differ in micro-batch and sharding alone.
#[derive(Clone, Copy)]
struct Common {
    layout: ParallelLayout,
    recompute: Recompute,
    /// Key of the pipeline.
    pipeline: ParallelLayout,
    /// Key of the frame.
    frame: ParallelLayout,
    holders: usize,
    sharers: usize,
    /// Places of the frame of all numbers of sequences, and of the pipeline with so many micro-batches.
    all_sequences: Option<usize>,
    shape: Option<(u64, usize)>,
}

/// Weights and states of every stage of a pipeline.
#[derive(Default)]
struct Stated {
    /// Places of pipeline and sharers.
    of: Option<(usize, usize)>,
    /// With the dummy gradients.
    weights: Vec<(Weights, Bytes)>,
    /// By sharding; empty as long as nobody asked.
    by_sharding: [Vec<Kinds>; 5],
}

/// What one rank's operations save and need with any number of sequences at once.
///
/// Every size is a product in which the micro-batch stands once or not at all, so that two numbers of sequences tell all others. Where
/// tokens are padded to experts' capacity or weighed by a load this is not so, and a frame holds one number of sequences alone.
struct Frame {
    /// With one and with two sequences; alike where the frame is of one number of them.
    sizes: [Sizes; 2],
    scores: [Bytes; 2],
    /// All that may be highest at each place of the schedule: how early it comes, with one and with two sequences.
    tops: [Vec<(usize, [Alike; 2])>; SLOTS],
    /// Whether no size of two sequences is so large that more of them might saturate.
    sure: bool,
}

/// A frame with a number of sequences.
#[derive(Default)]
struct Block {
    sizes: Sizes,
    scores: Bytes,
    tops: [Option<(usize, Alike)>; SLOTS],
}

/// One stage of a pipeline, and all that may be most in flight at each place of its schedule.
struct Staged {
    stage: Stage,
    sort: Sort,
    /// The sort's place among all.
    place: usize,
    most: [Vec<Held>; SLOTS],
    /// What one micro-batch of its first chunk holds by itself: no schedule holds less.
    least: [Option<Held>; SLOTS],
}

/// What the parameters and buffers of a stage depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sort {
    layers: PerKind,
    embedding: bool,
    head: bool,
    messages: u64,
}

/// What every stage has in flight and beside it, of one frame and one pipeline; states and what moves come on top.
#[derive(Default)]
struct Joined {
    /// Places of frame and pipeline.
    of: Option<(usize, usize)>,
    held: Vec<[Lines; SLOTS]>,
    /// With how many sequences [`Joined::stages`] is made.
    sequences: Option<u64>,
    block: Block,
    stages: Vec<Highest>,
}

/// All that may be most in flight at a place of a stage's schedule, with one and with two sequences.
type Lines = Vec<[Alike; 2]>;

/// One stage's part of [`Joined`] with one number of them.
#[derive(Clone, Copy)]
struct Highest {
    buffers: [Bytes; 2],
    tops: [Option<(usize, Alike)>; SLOTS],
    /// What no more sequences, and no fewer micro-batches of them, make less.
    floor: Bytes,
}

impl Many {
    /// Bytes by kind at the peak of the stage that holds most, without overheads outside the model, and the first kind with which
    /// any stage takes more than there is.
    pub fn memory(&mut self, job: &Job, run: &TrainingRun) -> (Kinds, Option<MemoryKind>) {
        let shape = self.stated(job, run);
        let frame = self.frame(job, run);
        let Self { frames, shapes, joined, stated, .. } = self;
        let (Some(frame_of_all), Some(stages)) = (frames.at(frame), shapes.at(shape)) else {
            return (Kinds::default(), None);
        };
        if joined.of != Some((frame, shape)) {
            joined.join((frame, shape), frame_of_all, stages);
        }
        let weights = &stated.weights;
        joined.with((job, run), frame_of_all, (stages, weights));
        joined.most((job, run), (stages, weights), stated.at(job.layout().sharding))
    }

    /// If weights, gradients and optimizer states alone are too much for any stage: the first kind with which they are, and by how
    /// much. The micro-batch does not matter.
    pub fn too_many_states(&mut self, job: &Job, run: &TrainingRun) -> Option<(MemoryKind, Bytes)> {
        self.stated(job, run);
        let capacity = job.cluster().accelerator.memory;
        let states = self.stated.at(job.layout().sharding);
        let kind = states.iter().filter_map(|kinds| first_over(kinds, capacity)).min()?;
        let most: Bytes = states.iter().map(|kinds| kinds.iter().copied().sum()).max()?;
        Some((kind, most.saturating_sub(capacity)))
    }

    /// What the layout of the last [`Self::memory`] takes with the same or any larger micro-batch, at least.
    pub fn floor(&self, sharding: DataSharding) -> Bytes {
        let states = self.stated.at(sharding).iter().map(|kinds| kinds.iter().copied().sum::<Bytes>());
        states.zip(&self.joined.stages).map(|(states, highest)| states + highest.floor).max().unwrap_or(Bytes::ZERO)
    }

    /// Makes sure that weights and states of every stage are known; the place of the pipeline.
    fn stated(&mut self, job: &Job, run: &TrainingRun) -> usize {
        let layout = job.layout();
        let common = self.common(job, run);
        let shape = self.shape(job, run, common.pipeline);
        let Self { shapes, holders, weights, states, stated, .. } = self;
        let (Some(stages), Some(model)) = (shapes.at(shape), holders.at(common.holders)) else { return shape };
        let scope = |staged: &Staged| Scope { job, run, model, stage: staged.stage.clone() };
        if stated.of != Some((shape, common.sharers)) {
            stated.of = Some((shape, common.sharers));
            stated.by_sharding.iter_mut().for_each(Vec::clear);
            stated.weights.clear();
            stated.weights.extend(stages.iter().map(|staged| {
                let make = || (Weights::of(&scope(staged)), dummies(&scope(staged)));
                weights.value((common.holders, staged.place), make)
            }));
        }
        if let Some(known) = stated.by_sharding.get_mut(layout.sharding as usize)
            && known.is_empty()
        {
            known.extend(stages.iter().map(|staged| {
                let make = || Ledger { lines: scope(staged).states(false) }.by_kind();
                states.value((common.sharers, staged.place, layout.sharding), make)
            }));
        }
        shape
    }

    /// What the layout has in common with the last one; worked out anew where it has not.
    fn common(&mut self, job: &Job, run: &TrainingRun) -> Common {
        let (layout, recompute) = (job.layout(), run.recompute);
        let alike = ParallelLayout { sharding: DataSharding::None, ..*layout };
        if let Some(common) = self.common.filter(|common| common.layout == alike && common.recompute == recompute) {
            return common;
        }
        let common = Common {
            layout: alike,
            recompute,
            pipeline: of_pipeline(layout),
            frame: of_frames(layout),
            holders: self.holders.place(of_weights(layout), || rank_model(&job.with_layout(of_weights(layout)), run)),
            sharers: self.sharers.place(of_states(layout), || ()),
            all_sequences: None,
            shape: None,
        };
        self.common = Some(common);
        common
    }

    /// The place of the frame, of as many sequences as the job has alone where it cannot be of all.
    fn frame(&mut self, job: &Job, run: &TrainingRun) -> usize {
        let layout = self.common.map_or_else(|| of_frames(job.layout()), |common| common.frame);
        let single = run.megatron.moe_pad_expert_input_to_capacity || run.megatron.moe_load_percent > 100;
        let (sequences, selective) = (job.micro_batch_size(), run.recompute == Recompute::Selective);
        if !single && sequences <= SURE.0 {
            if let Some(place) = self.common.and_then(|common| common.all_sequences) {
                return place;
            }
            let place = self.frames.place((layout, 0, selective), || Frame::of(job, run, false));
            if self.frames.at(place).is_some_and(|frame| frame.sure) {
                if let Some(common) = &mut self.common {
                    common.all_sequences = Some(place);
                }
                return place;
            }
        }
        self.frames.place((layout, sequences, selective), || Frame::of(job, run, true))
    }

    /// The place of the pipeline.
    fn shape(&mut self, job: &Job, run: &TrainingRun, layout: ParallelLayout) -> usize {
        let micro_batches = job.pipeline().settled().micro_batches;
        if let Some((known, place)) = self.common.and_then(|common| common.shape)
            && known == micro_batches
        {
            return place;
        }
        let sorts = &mut self.sorts;
        let place = self.shapes.place((layout, micro_batches, run.recompute), || staged(job, run, sorts));
        if let Some(common) = &mut self.common {
            common.shape = Some((micro_batches, place));
        }
        place
    }

    /// How many different operation lists were made.
    pub const fn frames(&self) -> usize {
        self.frames.len()
    }
}

impl Stated {
    /// States of each stage, if they are known.
    fn at(&self, sharding: DataSharding) -> &[Kinds] {
        self.by_sharding.get(sharding as usize).map_or(&[], Vec::as_slice)
    }
}

/// The first kind, in their order, with which a stage takes more than there is.
pub(in crate::estimator) fn first_over(kinds: &Kinds, capacity: Bytes) -> Option<MemoryKind> {
    let mut sum = Bytes::ZERO;
    let over = MemoryKind::ALL.into_iter().zip(kinds).find(|(_, bytes)| {
        sum += **bytes;
        sum > capacity
    });
    over.map(|(kind, _)| kind)
}

/// What a rank's operations depend on; pipeline, data-parallel ranks and what these share or send away do not change them.
const fn of_frames(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        data_parallel_size: ONE,
        data_parallel_replicas: ONE,
        sharding: DataSharding::None,
        offload: Offload::NONE,
        ..without_pipeline(layout)
    }
}

/// What a stage's place in the pipeline and its schedule depend on, beside the number of micro-batches.
pub(in crate::estimator) const fn of_pipeline(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        tensor_model_parallel_size: ONE,
        context_parallel_size: ONE,
        data_parallel_size: ONE,
        data_parallel_replicas: ONE,
        expert_model_parallel_size: ONE,
        expert_tensor_parallel_size: None,
        sequence_parallel: false,
        sharding: DataSharding::None,
        ..*layout
    }
}

/// What a stage's weights, gradients and states depend on, beside its blocks and ends and what is shared out.
const fn of_states(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout { sequence_parallel: false, sharding: DataSharding::None, ..without_pipeline(layout) }
}

const fn without_pipeline(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        pipeline_model_parallel_size: ONE,
        virtual_pipeline_model_parallel_size: ONE,
        pipeline_schedule: PipelineSchedule::OneForwardOneBackward,
        pipeline_split: PipelineSplit::Even,
        ..*layout
    }
}

/// What the number of a rank's parameters depends on, beside its blocks and ends.
const fn of_weights(layout: &ParallelLayout) -> ParallelLayout {
    let frames = of_frames(layout);
    ParallelLayout { context_parallel_size: ONE, sequence_parallel: false, ..frames }
}

impl Frame {
    /// The operations with one and two sequences, or with as many as the job has alone.
    fn of(job: &Job, run: &TrainingRun, single: bool) -> Self {
        let with = |sequences: u64| {
            let micro_batch_size = NonZeroU64::new(sequences).unwrap_or(ONE);
            job.with_choice(&Choice { layout: *job.layout(), micro_batch_size, recompute: run.recompute })
        };
        let own = job.micro_batch_size();
        let jobs = if single { [with(own), with(own)] } else { [with(1), with(2)] };
        let models = jobs.each_ref().map(|job| rank_model(job, run));
        let [one, two] = [0, 1].map(|at: usize| {
            let (job, model) = (jobs.get(at).unwrap_or(job), models.get(at));
            model.map(|model| Scope { job, run, model, stage: schedule::stage(job, run, 0) })
        });
        let both = |of: &dyn Fn(&Scope) -> Bytes| [&one, &two].map(|scope| scope.as_ref().map_or(Bytes::ZERO, of));
        let scores = both(&|scope| scores(&scope.model.dense));
        let sizes = [&one, &two].map(|scope| scope.as_ref().map_or_else(Sizes::default, Scope::sizes));
        let mut tops: [Vec<(usize, [Alike; 2])>; SLOTS] = Default::default();
        for (order, at) in one.as_ref().map_or_else(Vec::new, Scope::places).into_iter().enumerate() {
            let Some(top) = tops.get_mut(slot(at.place())) else { continue };
            let inside = [&one, &two].map(|scope| scope.as_ref().map_or_else(Alike::default, |scope| inside(scope, at)));
            keep_highest(top, order, inside);
        }
        let sure = is_sure(&sizes, &tops);
        Self { sizes, scores, tops, sure }
    }

    /// With so many sequences more than one.
    fn with(&self, more: u64, block: &mut Block) {
        let along = |line| along(line, more);
        let pair = |of: fn(&Sizes) -> [Bytes; 2]| {
            let [[a, b], [c, d]] = self.sizes.each_ref().map(of);
            [along([a, c]), along([b, d])]
        };
        let [embedding, head] = pair(|sizes| [sizes.embedding, sizes.head]);
        block.sizes = Sizes {
            whole: pair(|sizes| sizes.whole),
            input: pair(|sizes| sizes.input),
            again: pair(|sizes| sizes.again),
            embedding,
            head,
        };
        block.scores = along(self.scores);
        for (top, lines) in block.tops.iter_mut().zip(&self.tops) {
            let values = lines.iter().map(|(order, line)| (*order, along_each(line, more)));
            // Of equal ones the first.
            *top = values.reduce(|best, other| if sum(&other.1) > sum(&best.1) { other } else { best });
        }
    }
}

/// Whether no size of two sequences is so large that more of them might saturate.
fn is_sure([_, two]: &[Sizes; 2], tops: &[Vec<(usize, [Alike; 2])>; SLOTS]) -> bool {
    let Sizes { whole, input, again, embedding, head } = two;
    let inside = tops.iter().flatten().map(|(_, [_, two])| sum(two));
    let sizes = [whole, input, again].into_iter().flatten().chain([embedding, head]).copied();
    sizes.chain(inside).all(|bytes| bytes < SURE.1)
}

fn sum(alike: &Alike) -> Bytes {
    let [saved, passing] = *alike;
    saved + passing
}

/// What backward needs at a moment, beside what is in flight.
fn inside(scope: &Scope, at: At) -> Alike {
    let mut sum = Sum::default();
    scope.add_inside(at, &mut sum);
    sum.0
}

/// Bytes of entries.
#[derive(Default)]
struct Sum(Alike);

impl<'a> Extend<Entry<'a>> for Sum {
    fn extend<T: IntoIterator<Item = Entry<'a>>>(&mut self, entries: T) {
        let Self([saved, passing]) = self;
        for entry in entries {
            *if entry.why == Alive::Saved { &mut *saved } else { &mut *passing } += entry.bytes();
        }
    }
}

/// Keeps a moment if it is the highest for some number of sequences, and no longer those that are not for any.
fn keep_highest(top: &mut Vec<(usize, [Alike; 2])>, order: usize, inside: [Alike; 2]) {
    let course = |[one, two]: &[Alike; 2]| (sum(one), sum(two).saturating_sub(sum(one)));
    let (first, more) = course(&inside);
    let covers = |known: &[Alike; 2]| {
        let known = course(known);
        known.0 >= first && known.1 >= more
    };
    if !top.iter().any(|(_, known)| covers(known)) {
        top.retain(|(_, known)| {
            let known = course(known);
            known.0 >= first || known.1 > more
        });
        top.push((order, inside));
    }
}

/// The stages that can hold most.
fn staged(job: &Job, run: &TrainingRun, sorts: &mut Memo<Sort, ()>) -> Vec<Staged> {
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
    fn join(&mut self, of: (usize, usize), frame: &Frame, stages: &[Staged]) {
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
    fn with(&mut self, (job, run): (&Job, &TrainingRun), frame: &Frame, (stages, weights): (&[Staged], &[(Weights, Bytes)])) {
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
    fn most(
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

/// With so many sequences more than one.
fn along([one, two]: [Bytes; 2], more: u64) -> Bytes {
    one + two.saturating_sub(one) * more
}

fn along_each([[a, b], [c, d]]: &[Alike; 2], more: u64) -> Alike {
    [along([*a, *c], more), along([*b, *d], more)]
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
