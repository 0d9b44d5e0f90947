//! Memory of many layouts of one job under Megatron-LM.
//!
//! A rank's bytes are a sum of parts that depend on few of a layout's numbers each: what one block saves on the tensor, context and
//! expert degrees and the micro-batch; what is in flight on the pipeline; states on what shares them out. Every part is made by the same
//! functions as one estimate's, once for all layouts that agree in what it depends on, and kept. A property test holds that the sums
//! are those of [`peak`](super::peak).

mod frame;
mod joined;
mod keys;
mod pieces;

use super::Scope;
use super::fsdp::Weights;
use super::lines::dummies;
use crate::config::{DataSharding, Job, ParallelLayout, Recompute, TrainingRun};
use crate::estimator::law::Memo;
use crate::estimator::ledger::{Ledger, MemoryKind, first_over};
use crate::ops::megatron::{RankModel, rank_model};
use crate::units::Bytes;
use frame::{Frame, SURE};
use joined::{Joined, Sort, Staged, staged};
pub(in crate::estimator) use keys::of_pipeline;
use keys::{of_frames, of_states, of_weights};
use pieces::Pieces;

/// Bytes by kind.
type Kinds = [Bytes; 7];

/// The parts made so far, of one job's layouts.
#[derive(Default)]
pub(in crate::estimator) struct Many {
    /// By layout, number of sequences if the frame is of one alone, and whether selective recomputation drops something.
    frames: Memo<(ParallelLayout, u64, bool), Frame>,
    pieces: Pieces,
    shapes: Memo<(ParallelLayout, u64, Recompute), Vec<Staged>>,
    /// Sorts of stages, and layouts by [`of_states`]: their places are short keys for weights and states.
    sorts: Memo<Sort, ()>,
    sharers: Memo<ParallelLayout, ()>,
    /// By [`of_weights`]: one rank's modules; their sizes are not those of the job's activations.
    holders: Memo<ParallelLayout, RankModel>,
    weights: Memo<(usize, usize), (Weights, Bytes)>,
    states: Memo<(usize, usize, DataSharding), States>,
    common: Option<Common>,
    now: Now,
    joined: Joined,
    stated: Stated,
}

/// What is known of the layout asked about last, whatever it shares out.
#[derive(Clone, Copy, Default)]
struct Now {
    /// Place of the pipeline.
    shape: Option<usize>,
    /// Whether [`Many::joined`] is made.
    is_joined: bool,
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
    /// Place of the sharers, and of each stage's sort.
    of: Option<usize>,
    sorts: Vec<usize>,
    /// With the dummy gradients.
    weights: Vec<(Weights, Bytes)>,
    /// By sharding; empty as long as nobody asked.
    by_sharding: [Vec<States>; DataSharding::ALL.len()],
}

/// Weights, gradients and optimizer states of a stage.
#[derive(Clone, Copy, Default)]
struct States {
    kinds: Kinds,
    total: Bytes,
}

impl States {
    fn of(kinds: Kinds) -> Self {
        Self { kinds, total: kinds.into_iter().sum() }
    }
}

impl Many {
    /// Bytes by kind at the peak of the stage that holds most, without overheads outside the model, and the first kind with which
    /// any stage takes more than there is.
    pub fn memory(&mut self, job: &Job, run: &TrainingRun) -> (Kinds, Option<MemoryKind>) {
        let shape = self.stated(job, run);
        if !self.now.is_joined {
            let frame = self.frame(job, run);
            let Self { frames, shapes, joined, stated, .. } = self;
            let (Some(frame_of_all), Some(stages)) = (frames.at(frame), shapes.at(shape)) else {
                return (Kinds::default(), None);
            };
            if joined.of != Some((frame, shape)) {
                joined.join((frame, shape), frame_of_all, stages);
            }
            joined.with((job, run), frame_of_all, (stages, &stated.weights));
            self.now.is_joined = true;
        }
        let Some(stages) = self.shapes.at(shape) else { return (Kinds::default(), None) };
        self.joined.most((job, run), (stages, &self.stated.weights), self.stated.at(job.layout().sharding))
    }

    /// To be told when anything but the sharding changes.
    pub const fn forget(&mut self) {
        self.now = Now { shape: None, is_joined: false };
    }

    /// If weights, gradients and optimizer states alone are too much for any stage: the first kind with which they are, and by how
    /// much. The micro-batch does not matter.
    pub fn too_many_states(&mut self, job: &Job, run: &TrainingRun) -> Option<(MemoryKind, Bytes)> {
        self.stated(job, run);
        let capacity = job.cluster().accelerator.memory;
        let states = self.stated.at(job.layout().sharding);
        let most = states.iter().map(|states| states.total).max().filter(|most| *most > capacity)?;
        let kind = states.iter().filter_map(|states| first_over(&states.kinds, capacity)).min()?;
        Some((kind, most.saturating_sub(capacity)))
    }

    /// What the layout of the last [`Self::memory`] takes with the same or any larger micro-batch, at least.
    pub fn floor(&self, sharding: DataSharding) -> Bytes {
        self.joined.floor(self.stated.at(sharding))
    }

    /// Makes sure that weights and states of every stage are known; the place of the pipeline.
    fn stated(&mut self, job: &Job, run: &TrainingRun) -> usize {
        let sharding = job.layout().sharding;
        if let Some(shape) = self.now.shape
            && !self.stated.at(sharding).is_empty()
        {
            return shape;
        }
        let common = self.common(job, run);
        let shape = self.shape(job, run, common.pipeline);
        self.now.shape = Some(shape);
        let Self { shapes, holders, weights, states, stated, .. } = self;
        let (Some(stages), Some(model)) = (shapes.at(shape), holders.at(common.holders)) else { return shape };
        let scope = |staged: &Staged| Scope { job, run, model, stage: staged.stage.clone() };
        // Pipelines with more or fewer micro-batches have the same stages.
        if stated.of != Some(common.sharers) || !stages.iter().map(|staged| &staged.place).eq(&stated.sorts) {
            stated.of = Some(common.sharers);
            stated.sorts.clear();
            stated.sorts.extend(stages.iter().map(|staged| staged.place));
            stated.by_sharding.iter_mut().for_each(Vec::clear);
            stated.weights.clear();
            stated.weights.extend(stages.iter().map(|staged| {
                let make = || (Weights::of(&scope(staged)), dummies(&scope(staged)));
                weights.value((common.holders, staged.place), make)
            }));
        }
        if let Some(known) = stated.by_sharding.get_mut(sharding.place)
            && known.is_empty()
        {
            known.extend(stages.iter().map(|staged| {
                let make = || States::of(Ledger { lines: scope(staged).states(false) }.by_kind());
                states.value((common.sharers, staged.place, sharding), make)
            }));
        }
        shape
    }

    /// What the layout has in common with the last one; worked out anew where it has not.
    fn common(&mut self, job: &Job, run: &TrainingRun) -> Common {
        let (layout, recompute) = (job.layout(), run.recompute);
        let alike = ParallelLayout { sharding: DataSharding::NOTHING, ..*layout };
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
            let pieces = &mut self.pieces;
            let place = self.frames.place((layout, 0, selective), || Frame::of(job, run, false, pieces));
            if self.frames.at(place).is_some_and(|frame| frame.sure) {
                if let Some(common) = &mut self.common {
                    common.all_sequences = Some(place);
                }
                return place;
            }
        }
        let pieces = &mut self.pieces;
        self.frames.place((layout, sequences, selective), || Frame::of(job, run, true, pieces))
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
    fn at(&self, sharding: DataSharding) -> &[States] {
        self.by_sharding.get(sharding.place).map_or(&[], Vec::as_slice)
    }
}
