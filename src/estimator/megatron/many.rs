//! Memory of many layouts of one job under Megatron-LM.
//!
//! A rank's bytes are a sum of parts that depend on few of a layout's numbers each: what one block saves on the tensor, context and
//! expert degrees and the micro-batch; what is in flight on the pipeline; states on what shares them out. Every part is made by the same
//! functions as one estimate's, once for all layouts that agree in what it depends on, and kept. A property test holds that the sums
//! are those of [`peak`](super::peak).

use std::num::NonZeroU64;

use super::fsdp::Moving;
use super::schedule::{self, Held, PerKind, Stage};
use super::{Alive, At, Scope, Sizes, lines, slot, states, total};
use crate::config::{DataSharding, Job, ParallelLayout, Recompute, TrainingRun};
use crate::estimator::ledger::{Ledger, MemoryKind};
use crate::estimator::memo::Memo;
use crate::ops::megatron::{RankModel, rank_model};
use crate::units::Bytes;

/// Bytes by kind.
type Kinds = [Bytes; 7];
/// Bytes saved in forward, and bytes alive for a while.
type Alike = [Bytes; 2];

/// Places in the schedule at which a moment can be.
const SLOTS: usize = 5;

const ONE: NonZeroU64 = NonZeroU64::MIN;

/// The parts made so far, of one job's layouts.
#[derive(Default)]
pub(in crate::estimator) struct Many {
    blocks: Memo<(ParallelLayout, u64, Recompute), Block>,
    shapes: Memo<(ParallelLayout, u64, Recompute), Vec<Staged>>,
    buffers: Memo<(usize, Sort), Kinds>,
    states: Memo<(ParallelLayout, Sort), Kinds>,
    moving: Memo<(ParallelLayout, usize, Sort), Alike>,
    joined: Joined,
}

/// What one rank's operations save and need, and the model itself.
struct Block {
    model: RankModel,
    sizes: Sizes,
    /// What backward's highest moment needs beside it at each place of the schedule, and how early it comes.
    tops: [Option<(usize, Alike)>; SLOTS],
}

/// One stage of a pipeline, and all that may be most in flight at each place of its schedule.
struct Staged {
    stage: Stage,
    sort: Sort,
    most: [Vec<Held>; SLOTS],
}

/// What the parameters and buffers of a stage depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sort {
    layers: PerKind,
    ends: [bool; 2],
    messages: u64,
}

/// The highest moments of every stage for one block and one pipeline, buffers included; states and what moves come on top.
#[derive(Default)]
struct Joined {
    of: Option<(usize, usize)>,
    stages: Vec<(Kinds, [Option<(usize, Alike)>; SLOTS])>,
}

impl Many {
    /// Bytes by kind at the peak of the stage that holds most, without overheads outside the model.
    pub fn memory(&mut self, job: &Job, run: &TrainingRun) -> Kinds {
        let layout = *job.layout();
        let block_key = (of_blocks(&layout), job.micro_batch_size(), run.recompute);
        let block_place = self.blocks.place(block_key, || Block::of(job, run));
        let shape_key = (of_pipeline(&layout), schedule::steps(job, run), run.recompute);
        let shape_place = self.shapes.place(shape_key, || staged(job, run));
        let (Some(block), Some(stages)) = (self.blocks.at(block_place), self.shapes.at(shape_place)) else {
            return Kinds::default();
        };
        let scope = |staged: &Staged| Scope { job, run, model: &block.model, stage: staged.stage.clone() };
        if self.joined.of != Some((block_place, shape_place)) {
            let buffers = |staged: &Staged| {
                self.buffers.value((block_place, staged.sort), || {
                    let mut lines = Vec::with_capacity(8);
                    lines::buffers(&scope(staged), &mut lines);
                    Ledger { lines }.by_kind()
                })
            };
            self.joined.join((block_place, shape_place), (block, stages), buffers);
        }
        let moves = layout.sharding.shards_gradients();
        let (shared, moved_by) = (of_states(&layout), of_moving(&layout));
        let mut best: Option<(Bytes, Kinds)> = None;
        for (staged, (buffers, tops)) in stages.iter().zip(&self.joined.stages) {
            let mut kinds = self.states.value((shared, staged.sort), || {
                let mut lines = Vec::with_capacity(8);
                states::add(&scope(staged), false, &mut lines);
                Ledger { lines }.by_kind()
            });
            add(&mut kinds, buffers);
            let moved =
                if moves { self.moving.value((moved_by, block_place, staged.sort), || moved(&scope(staged))) } else { Alike::default() };
            add_highest(&mut kinds, tops, moved);
            let total = kinds.into_iter().sum();
            // Of equal ones the first.
            if best.as_ref().is_none_or(|best| total > best.0) {
                best = Some((total, kinds));
            }
        }
        best.map_or_else(Kinds::default, |best| best.1)
    }

    /// How many different blocks were made.
    pub const fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// What a rank's operations depend on; pipeline, data-parallel ranks and what these share do not change them.
const fn of_blocks(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        pipeline_model_parallel_size: ONE,
        virtual_pipeline_model_parallel_size: ONE,
        data_parallel_size: ONE,
        sharding: DataSharding::None,
        ..*layout
    }
}

/// What a stage's place in the pipeline and its schedule depend on, beside the number of micro-batches.
const fn of_pipeline(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        tensor_model_parallel_size: ONE,
        context_parallel_size: ONE,
        data_parallel_size: ONE,
        expert_model_parallel_size: ONE,
        expert_tensor_parallel_size: None,
        sequence_parallel: false,
        sharding: DataSharding::None,
        ..*layout
    }
}

/// What a stage's weights, gradients and states depend on, beside its blocks and ends.
const fn of_states(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout {
        pipeline_model_parallel_size: ONE,
        virtual_pipeline_model_parallel_size: ONE,
        sequence_parallel: false,
        ..*layout
    }
}

/// What gathered weights and waiting gradients depend on, beside blocks and stage: who shares what, and whether anybody does.
fn of_moving(layout: &ParallelLayout) -> ParallelLayout {
    let two = ONE.saturating_add(1);
    ParallelLayout { data_parallel_size: layout.data_parallel_size.min(two), ..*layout }
}

impl Block {
    fn of(job: &Job, run: &TrainingRun) -> Self {
        let model = rank_model(job, run);
        let scope = Scope { job, run, model: &model, stage: schedule::stage(job, run, 0) };
        let sizes = scope.sizes();
        let mut tops = [None; SLOTS];
        for (order, at) in scope.places().into_iter().enumerate() {
            let Some(top) = tops.get_mut(slot(at.place())) else { continue };
            let mut inside = Alike::default();
            for entry in scope.inside(at) {
                let [saved, passing] = &mut inside;
                *if entry.why == Alive::Saved { saved } else { passing } += entry.bytes();
            }
            let sum = |alike: &Alike| alike.iter().copied().sum::<Bytes>();
            if top.as_ref().is_none_or(|(_, highest)| sum(&inside) > sum(highest)) {
                *top = Some((order, inside));
            }
        }
        Self { model, sizes, tops }
    }
}

/// The stages that can hold most.
fn staged(job: &Job, run: &TrainingRun) -> Vec<Staged> {
    let staged = |stage: Stage| {
        let mut most: [Vec<Held>; SLOTS] = Default::default();
        schedule::play(&stage, &schedule::passes(job, run, stage.index), |held, at| {
            if let Some(most) = most.get_mut(slot(at))
                && !most.iter().any(|known| known.covers(&held))
            {
                most.retain(|known| !held.covers(known));
                most.push(held);
            }
        });
        let sort = Sort { layers: stage.layers(), ends: [stage.embedding, stage.head], messages: stage.messages };
        Staged { stage, sort, most }
    };
    schedule::stages(job, run).into_iter().map(staged).collect()
}

impl Joined {
    fn join(&mut self, of: (usize, usize), (block, stages): (&Block, &[Staged]), mut buffers: impl FnMut(&Staged) -> Kinds) {
        self.of = Some(of);
        self.stages.clear();
        for staged in stages {
            let mut tops = block.tops;
            for (top, most) in tops.iter_mut().zip(&staged.most) {
                let held = first_highest(most.iter().map(|held| block.sizes.each(held)));
                *top = top.zip(held).map(|((order, [saved, passing]), [kept, brought_back])| {
                    (order, [saved + kept, passing + brought_back])
                });
            }
            self.stages.push((buffers(staged), tops));
        }
    }
}

/// The largest, of equal ones the first.
fn first_highest(all: impl Iterator<Item = Alike>) -> Option<Alike> {
    let sum = |alike: &Alike| alike.iter().copied().sum::<Bytes>();
    all.reduce(|best, other| if sum(&other) > sum(&best) { other } else { best })
}

/// What moves while backward is in the head, and in a block.
fn moved(scope: &Scope) -> Alike {
    let moving = Moving::of(scope);
    let of = |at: Option<At>| at.filter(|_| moving.moves()).map_or(Bytes::ZERO, |at| total(&moving.lines(scope, at)));
    let block = scope.places().into_iter().find(|at| matches!(at, At::Block { .. }));
    [of(Some(At::Head(0))), of(block)]
}

/// Adds the highest moment; where none is higher than the optimizer's step, nothing.
fn add_highest(kinds: &mut Kinds, tops: &[Option<(usize, Alike)>; SLOTS], [head, block]: Alike) {
    let mut best: Option<(Bytes, usize, Alike)> = None;
    for (slot, top) in tops.iter().enumerate() {
        let Some((order, [saved, passing])) = *top else { continue };
        let passing = passing + if slot == 0 { head } else { block };
        let total = saved + passing;
        // Of equal ones the earlier; the optimizer's step comes before all.
        let higher = best.map_or(total > Bytes::ZERO, |best| total > best.0 || (total == best.0 && order < best.1));
        if higher {
            best = Some((total, order, [saved, passing]));
        }
    }
    if let Some((_, _, [saved, passing])) = best {
        for (kind, bytes) in [(MemoryKind::Activation, saved), (MemoryKind::Temporary, passing)] {
            if let Some(sum) = kinds.get_mut(kind.index()) {
                *sum += bytes;
            }
        }
    }
}

fn add(kinds: &mut Kinds, more: &Kinds) {
    for (sum, more) in kinds.iter_mut().zip(more) {
        *sum += *more;
    }
}
