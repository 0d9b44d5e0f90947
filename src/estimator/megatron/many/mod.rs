//! Memory of many layouts of one job under Megatron-LM.
//!
//! A rank's bytes are a sum of parts that depend on few of a layout's numbers each: what one block
//! saves on the tensor, context and expert degrees, and by a law on the micro-batch; what is in
//! flight on the pipeline; states on what shares them out. Every part is made by the same functions
//! as one estimate's, once for all layouts that agree in what it depends on, and kept. A property
//! test holds that the sums are those of [`peak`](super::peak).

mod frame;
mod joined;
mod keys;

use super::Scope;
use super::fsdp::Weights;
use super::lines::dummies;
use crate::config::{DataSharding, Job, ParallelLayout, Recompute, TrainingRun};
use crate::estimator::law::{Last, Memo};
use crate::estimator::ledger::{Ledger, MemoryKind, first_over};
use crate::ops::megatron::{RankModel, rank_of};
use crate::ops::{OpList, declared};
use crate::units::Bytes;
use frame::{Frame, MOST, Parts};
use joined::{Needed, Needs, Sort, Staged, floor, most, staged};
pub(in crate::estimator) use keys::of_pipeline;
use keys::{of_frames, of_states, of_weights};

/// Bytes by kind.
type Kinds = [Bytes; 7];

/// The parts made so far, of one job's layouts.
#[derive(Default)]
pub(in crate::estimator) struct Many {
    /// The layers of the job's model, which no layout changes; made when the first is asked about.
    layers: Option<OpList>,
    /// By layout, number of sequences if the frame is of one alone, and whether selective
    /// recomputation drops something.
    frames: Memo<(ParallelLayout, u64, bool), Frame>,
    parts: Parts,
    pipelines: Memo<(ParallelLayout, u64, Recompute), Pipeline>,
    /// Sorts of stages, and layouts by [`of_states`]: their places are short keys for weights and
    /// states.
    sorts: Memo<Sort, ()>,
    sharers: Memo<ParallelLayout, ()>,
    /// By [`of_weights`]: one rank's modules; their sizes are not those of the job's activations.
    holders: Memo<ParallelLayout, RankModel>,
    weights: Memo<(usize, usize), (Weights, Bytes)>,
    states: Memo<(usize, usize, DataSharding), States>,
    /// Places of the parts that do not depend on micro-batch and sharding.
    common: Last<(ParallelLayout, Recompute), Common>,
    /// Of frame and pipeline, and these with weights and a micro-batch.
    needs: Last<(usize, usize), Vec<Needs>>,
    needed: Last<(usize, usize, usize, u64), Vec<Needed>>,
    /// Of sharers and pipelines alike.
    stated: Last<(usize, usize), Stated>,
}

/// The stages of a pipeline that can hold most.
struct Pipeline {
    stages: Vec<Staged>,
    /// The place of the first pipeline with stages of the same sorts: those with more or fewer
    /// micro-batches have the same.
    alike: usize,
}

/// Keys of the parts that a layout has in common with others that differ in micro-batch and
/// sharding alone.
#[derive(Clone, Copy)]
struct Common {
    pipeline: ParallelLayout,
    frame: ParallelLayout,
    holders: usize,
    sharers: usize,
}

/// Weights and states of every stage of a pipeline.
#[derive(Default)]
struct Stated {
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

impl Stated {
    /// States of each stage, if they are known.
    fn at(&self, sharding: DataSharding) -> &[States] {
        self.by_sharding.get(sharding.place).map_or(&[], Vec::as_slice)
    }
}

impl Many {
    /// Bytes by kind at the peak of the stage that holds most, without overheads outside the model,
    /// and the first kind with which any stage takes more than there is.
    pub fn memory(&mut self, job: &Job, run: &TrainingRun) -> (Kinds, Option<MemoryKind>) {
        let common = self.common(job, run);
        let (frame, pipeline) =
            (self.frame(job, run, common.frame), self.pipeline(job, run, common.pipeline));
        self.state(job, run, &common, pipeline);
        let Self { frames, pipelines, needs, needed, stated, .. } = self;
        let known = (frames.at(frame), pipelines.at(pipeline), stated.last());
        let (Some(of_frame), Some(Pipeline { stages, .. }), Some(stated)) = known else {
            return (Kinds::default(), None);
        };
        let needs = needs.value((frame, pipeline), |old| {
            let mut needs = old.unwrap_or_default();
            needs.resize_with(stages.len(), Needs::default);
            needs.iter_mut().zip(stages).for_each(|(needs, staged)| needs.join(of_frame, staged));
            needs
        });
        let needed =
            needed.value((frame, pipeline, common.holders, job.micro_batch_size()), |old| {
                let mut needed = old.unwrap_or_default();
                needed.clear();
                let each = needs.iter().zip(stages).zip(&stated.weights);
                needed.extend(each.map(|((needs, staged), (_, dummies))| {
                    needs.with((job, run), of_frame, staged, *dummies)
                }));
                needed
            });
        let each =
            stages.iter().zip(&stated.weights).zip(needed).zip(stated.at(job.layout().sharding));
        most(
            (job, run),
            each.map(|(((staged, (weights, _)), needed), states)| {
                (staged, weights, &*needed, states)
            }),
        )
    }

    /// If weights, gradients and optimizer states alone are too much for any stage: the first kind
    /// with which they are, and by how much. The micro-batch does not matter.
    pub fn too_many_states(&mut self, job: &Job, run: &TrainingRun) -> Option<(MemoryKind, Bytes)> {
        let common = self.common(job, run);
        let pipeline = self.pipeline(job, run, common.pipeline);
        self.state(job, run, &common, pipeline);
        let capacity = job.cluster().accelerator.memory;
        let states = self.stated.last()?.at(job.layout().sharding);
        let most =
            states.iter().map(|states| states.total).max().filter(|most| *most > capacity)?;
        let kind = states.iter().filter_map(|states| first_over(&states.kinds, capacity)).min()?;
        Some((kind, most.saturating_sub(capacity)))
    }

    /// Fewest bytes that the layout of the last [`Self::memory`] takes with the same or any larger
    /// micro-batch.
    pub fn floor(&self, sharding: DataSharding) -> Bytes {
        let known = self.needed.last().zip(self.stated.last());
        known.map_or(Bytes::ZERO, |(needed, stated)| floor(needed, stated.at(sharding)))
    }

    /// Makes sure that weights and states of every stage of a pipeline are known.
    fn state(&mut self, job: &Job, run: &TrainingRun, common: &Common, pipeline: usize) {
        let Self { pipelines, holders, weights, states, stated, .. } = self;
        let known = (pipelines.at(pipeline), holders.at(common.holders));
        let (Some(Pipeline { stages, alike }), Some(model)) = known else { return };
        let scope = |staged: &Staged| Scope { job, run, model, stage: staged.stage.clone() };
        let stated = stated.value((common.sharers, *alike), |_| {
            let of_stage = |staged: &Staged| {
                let make = || (Weights::of(&scope(staged)), dummies(&scope(staged)));
                weights.value((common.holders, staged.place), make)
            };
            Stated { weights: stages.iter().map(of_stage).collect(), ..Stated::default() }
        });
        let sharding = job.layout().sharding;
        if let Some(known) = stated.by_sharding.get_mut(sharding.place)
            && known.is_empty()
        {
            known.extend(stages.iter().map(|staged| {
                let make = || States::of(Ledger { lines: scope(staged).states(false) }.by_kind());
                states.value((common.sharers, staged.place, sharding), make)
            }));
        }
    }

    /// The parts that the layout has in common with others.
    fn common(&mut self, job: &Job, run: &TrainingRun) -> Common {
        let Self { layers, common, holders, sharers, .. } = self;
        let (layers, layout) = (layers.get_or_insert_with(|| declared(job.model())), job.layout());
        *common.value(
            (ParallelLayout { sharding: DataSharding::NOTHING, ..*layout }, run.recompute),
            |_| Common {
                pipeline: of_pipeline(layout),
                frame: of_frames(layout),
                holders: holders.place(of_weights(layout), || {
                    rank_of(layers, &job.with_layout(of_weights(layout)), run)
                }),
                sharers: sharers.place(of_states(layout), || ()),
            },
        )
    }

    /// The place of the frame, of as many sequences as the job has alone where it cannot be of all.
    fn frame(&mut self, job: &Job, run: &TrainingRun, layout: ParallelLayout) -> usize {
        let Self { layers, frames, parts, .. } = self;
        let layers = layers.get_or_insert_with(|| declared(job.model()));
        let single =
            run.megatron.moe_pad_expert_input_to_capacity || run.megatron.moe_load_percent > 100;
        let (sequences, selective) =
            (job.micro_batch_size(), run.recompute == Recompute::Selective);
        if !single && sequences <= MOST {
            let place = frames
                .place((layout, 0, selective), || Frame::of((job, run), false, layers, parts));
            if frames.at(place).is_some_and(|frame| frame.is_confirmed) {
                return place;
            }
        }
        frames.place((layout, sequences, selective), || Frame::of((job, run), true, layers, parts))
    }

    /// The place of the pipeline.
    fn pipeline(&mut self, job: &Job, run: &TrainingRun, layout: ParallelLayout) -> usize {
        let Self { pipelines, sorts, .. } = self;
        let key = (layout, job.pipeline().settled().micro_batches, run.recompute);
        pipelines.place_among(key, |known| {
            let stages = staged(job, run, sorts);
            let places =
                |stages: &[Staged]| stages.iter().map(|staged| staged.place).collect::<Vec<_>>();
            let of = places(&stages);
            let alike =
                known.iter().position(|known| places(&known.stages) == of).unwrap_or(known.len());
            Pipeline { stages, alike }
        })
    }

    /// How many different operation lists were made.
    pub const fn frames(&self) -> usize {
        self.frames.len()
    }
}
