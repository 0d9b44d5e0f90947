//! Passes that a pipeline stage runs, their order, and the activations that are in flight on the
//! way.

use crate::config::{
    Job, PassType, Pipeline, PipelineSchedule, PipelineSplit, Recompute, RecomputeMethod, Slot,
    TrainingRun,
};

/// A number for blocks with a dense feed-forward layer and one for blocks with experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::estimator) struct PerKind {
    pub dense: u64,
    pub experts: u64,
}

impl PerKind {
    /// The number of that kind.
    pub const fn of(self, kind: Kind) -> u64 {
        match kind {
            Kind::Dense => self.dense,
            Kind::Experts => self.experts,
        }
    }

    const fn of_mut(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Dense => &mut self.dense,
            Kind::Experts => &mut self.experts,
        }
    }

    fn change(&mut self, kind: Kind, by: i64) {
        let number = self.of_mut(kind);
        *number = number.saturating_add_signed(by);
    }
}

/// Kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) enum Kind {
    Dense,
    Experts,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Dense, Self::Experts];
}

/// How full recomputation covers a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) enum Covered {
    /// Not at all: it is kept whole.
    No,
    /// Its input is kept; the blocks after it that are covered [`With`](Self::With) it are
    /// recomputed together with it.
    First,
    /// The block is recomputed from the input of an earlier block.
    With,
}

/// One block of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) struct Place {
    pub kind: Kind,
    pub covered: Covered,
}

/// One rank of a pipeline: the part of the model that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::estimator) struct Stage {
    /// Position, from 0.
    pub index: u64,
    /// The chunk behind the embedding, if it holds that.
    pub embedding: Option<usize>,
    /// The chunk before the head, if it holds that and computes the loss.
    pub head: Option<usize>,
    /// Its chunks of blocks: one, or several that take turns.
    pub chunks: Vec<Vec<Place>>,
    /// Messages of `[s, b, h]` kept beside the blocks' inputs: the gradient on its way to the stage
    /// before, and under interleaving what has come in ahead for the next forward and the next
    /// backward. Both directions of `DualPipe` have one each.
    pub messages: u64,
}

impl Stage {
    /// Blocks it holds.
    pub fn layers(&self) -> PerKind {
        let mut layers = PerKind::default();
        self.chunks.iter().flatten().for_each(|place| layers.change(place.kind, 1));
        layers
    }

    /// True if the stage holds the embedding.
    pub const fn embeds(&self) -> bool {
        self.embedding.is_some()
    }

    /// True if the stage holds the head and computes the loss.
    pub const fn ends(&self) -> bool {
        self.head.is_some()
    }
}

/// Activations in flight at a moment; whole blocks are counted once for every micro-batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::estimator) struct Held {
    /// Blocks kept whole.
    pub whole: PerKind,
    /// Inputs of recomputed blocks.
    pub inputs: PerKind,
    /// Blocks brought back that backward has yet to reach, without their inputs.
    pub again: PerKind,
    /// Inputs of blocks that were brought back as well.
    pub again_inputs: PerKind,
    /// Embeddings.
    pub embeddings: u64,
    /// Heads.
    pub heads: u64,
}

impl Held {
    /// True if no number is smaller than in `other`.
    pub fn covers(&self, other: &Self) -> bool {
        self.numbers().into_iter().zip(other.numbers()).all(|(own, other)| own >= other)
    }

    const fn numbers(&self) -> [u64; 10] {
        let Self { whole, inputs, again, again_inputs, embeddings, heads } = *self;
        let (a, b, c, d) = (whole, inputs, again, again_inputs);
        [
            a.dense, a.experts, b.dense, b.experts, c.dense, c.experts, d.dense, d.experts,
            embeddings, heads,
        ]
    }
}

/// Where a stage is when it may hold most; what backward is in is not counted as [`Held`], but for
/// its input if it is recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) enum Where {
    /// The last forward before the first backward has ended.
    Forward,
    /// Loss and head of a micro-batch, forward and backward.
    Head,
    /// Backward of a block, which was kept whole or has just been recomputed; `split`: backward for
    /// inputs alone, so that what the block saved is counted as [`Held`] and stays.
    Block { kind: Kind, recomputed: bool, split: bool },
}

/// The stages that can hold most: of each sort (its ends of the model, its blocks) the first and,
/// where backward for weights waits, the last.
///
/// Along stages of one sort the micro-batches in flight become no more, and those that wait for
/// their weights become more, by the same number from each to the next.
pub(in crate::estimator) fn stages(job: &Job, run: &TrainingRun) -> Vec<Stage> {
    let (p, model) = (job.layout().p(), job.model());
    let waits = job.pipeline().schedule.facts().splits_backward;
    let alike = model.moe.is_none() && job.layout().pipeline_split == PipelineSplit::Even;
    if alike {
        let mut indices =
            vec![0, 1, if waits { p.saturating_sub(2) } else { 1 }, p.saturating_sub(1)];
        indices.retain(|index| *index < p);
        indices.dedup();
        return indices.into_iter().map(|index| stage(job, run, index)).collect();
    }
    let mut found: Vec<(Stage, Option<Stage>)> = Vec::with_capacity(4);
    for index in 0..p {
        let stage = stage(job, run, index);
        let sort = |stage: &Stage| (stage.embedding, stage.head, stage.messages);
        let same = |known: &&mut (Stage, Option<Stage>)| {
            known.0.chunks == stage.chunks && sort(&known.0) == sort(&stage)
        };
        match found.iter_mut().find(same) {
            Some(known) if waits => known.1 = Some(stage),
            Some(_) => {}
            None => found.push((stage, None)),
        }
    }
    found.into_iter().flat_map(|(first, last)| std::iter::once(first).chain(last)).collect()
}

/// One stage.
pub(in crate::estimator) fn stage(job: &Job, run: &TrainingRun, index: u64) -> Stage {
    let pipeline = job.pipeline();
    let positions: Vec<u64> =
        (0..pipeline.chunks_on_rank()).map(|chunk| pipeline.position(index, chunk)).collect();
    Stage {
        index,
        embedding: positions.iter().position(|position| *position == 0),
        head: positions.iter().position(|position| *position + 1 == pipeline.positions()),
        chunks: positions.iter().map(|position| places(job, run, *position)).collect(),
        messages: match (pipeline.schedule, pipeline.ranks) {
            (_, 1) => 0,
            (PipelineSchedule::Interleaved, _) => 3,
            (PipelineSchedule::DualPipe, _) => 2,
            _ => u64::from(index > 0),
        },
    }
}

/// The blocks of the chunk at a position.
fn places(job: &Job, run: &TrainingRun, position: u64) -> Vec<Place> {
    let blocks = job.layout().blocks_at(job.model().num_hidden_layers, position);
    let kind =
        |layer| if job.model().moe_at(layer).is_some() { Kind::Experts } else { Kind::Dense };
    blocks
        .zip(0..)
        .map(|(layer, place)| Place { kind: kind(layer), covered: covered(run, place) })
        .collect()
}

fn covered(run: &TrainingRun, place: u64) -> Covered {
    if run.recompute != Recompute::Full {
        return Covered::No;
    }
    match run.megatron.recompute_method {
        RecomputeMethod::Uniform(blocks) if place.is_multiple_of(blocks.get()) => Covered::First,
        RecomputeMethod::Uniform(_) => Covered::With,
        RecomputeMethod::Block(blocks) if place < blocks => Covered::First,
        RecomputeMethod::Block(_) => Covered::No,
    }
}

/// One chunk of one micro-batch, or of several that follow on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimator) struct Pass {
    pub chunk: usize,
    pub work: PassType,
    pub times: u64,
}

/// The passes of a stage, as far as they can hold more than those before.
pub(in crate::estimator) fn passes(pipeline: &Pipeline, index: u64) -> Vec<Pass> {
    if pipeline.schedule == PipelineSchedule::GPipe {
        // Backward only gives back the activations that all forward passes have kept.
        let pass = |work, times| Pass { chunk: 0, work, times };
        return vec![
            pass(PassType::Forward, pipeline.micro_batches),
            pass(PassType::Backward, pipeline.micro_batches),
        ];
    }
    let pass = |slot: &Slot| Pass {
        chunk: usize::try_from(slot.chunk).unwrap_or(usize::MAX),
        work: slot.work,
        times: 1,
    };
    pipeline.settled().order(index).iter().map(pass).collect()
}

/// Plays the passes and shows the activations in flight at every moment at which they may be most.
///
/// Where backward for weights is a pass of its own, all that a block saved waits for it; the head's
/// weights do not wait.
pub(in crate::estimator) fn play(
    stage: &Stage,
    passes: &[Pass],
    mut show: impl FnMut(Held, Where),
) {
    let mut held = Held::default();
    let mut shown = false;
    for pass in passes {
        let Some(places) = stage.chunks.get(pass.chunk) else { continue };
        let (with_embedding, with_head) =
            (stage.embedding == Some(pass.chunk), stage.head == Some(pass.chunk));
        match pass.work {
            PassType::Forward => {
                forward(places, (with_embedding, with_head), pass.times, &mut held);
            }
            PassType::Backward | PassType::BackwardInput => {
                if !shown {
                    show(held, Where::Forward);
                    shown = true;
                }
                if with_head {
                    held.heads = held.heads.saturating_sub(1);
                    show(held, Where::Head);
                }
                if pass.work == PassType::BackwardInput {
                    backward_for_inputs(places, &mut held, &mut show);
                } else {
                    backward(places, &mut held, &mut show);
                    held.embeddings = held.embeddings.saturating_sub(u64::from(with_embedding));
                }
                // Of several alike the first holds most.
                forget(
                    places,
                    (with_embedding, with_head),
                    pass.times.saturating_sub(1),
                    &mut held,
                );
            }
            PassType::BackwardWeight => {
                backward_for_weights(places, &mut held);
                held.embeddings = held.embeddings.saturating_sub(u64::from(with_embedding));
            }
        }
    }
}

/// Adds the activations that `times` forward passes keep.
pub(super) fn forward(
    places: &[Place],
    (embedding, head): (bool, bool),
    times: u64,
    held: &mut Held,
) {
    let add =
        |number: &mut u64, of: bool| *number = number.saturating_add(if of { times } else { 0 });
    add(&mut held.embeddings, embedding);
    add(&mut held.heads, head);
    for place in places {
        match place.covered {
            Covered::No => add(held.whole.of_mut(place.kind), true),
            Covered::First => add(held.inputs.of_mut(place.kind), true),
            Covered::With => {}
        }
    }
}

/// Takes off the activations that `times` backward passes give back.
fn forget(places: &[Place], (embedding, head): (bool, bool), times: u64, held: &mut Held) {
    let take =
        |number: &mut u64, of: bool| *number = number.saturating_sub(if of { times } else { 0 });
    take(&mut held.embeddings, embedding);
    take(&mut held.heads, head);
    for place in places {
        match place.covered {
            Covered::No => take(held.whole.of_mut(place.kind), true),
            Covered::First => take(held.inputs.of_mut(place.kind), true),
            Covered::With => {}
        }
    }
}

/// The start of the group of blocks recomputed together that ends at `end`, and whether it is
/// recomputed at all.
pub(super) fn group(places: &[Place], end: usize) -> (usize, bool) {
    let first =
        places.iter().take(end).rposition(|place| place.covered != Covered::With).unwrap_or(0);
    (first, places.get(first).is_some_and(|place| place.covered != Covered::No))
}

/// Counts the blocks of a recomputed group as brought back.
fn bring_back(group: &[Place], held: &mut Held) {
    for place in group {
        held.again.change(place.kind, 1);
        held.again_inputs.change(place.kind, i64::from(place.covered == Covered::With));
    }
}

/// Blocks from the last to the first; those of a group are brought back when backward reaches the
/// group.
pub(super) fn backward(places: &[Place], held: &mut Held, show: &mut impl FnMut(Held, Where)) {
    let mut end = places.len();
    while end > 0 {
        let (first, recomputed) = group(places, end);
        let group = places.get(first..end).unwrap_or_default();
        if recomputed {
            bring_back(group, held);
        }
        for place in group.iter().rev() {
            let kind = place.kind;
            if recomputed {
                held.again.change(kind, -1);
            } else {
                held.whole.change(kind, -1);
            }
            show(*held, Where::Block { kind, recomputed, split: false });
            match place.covered {
                Covered::No => {}
                Covered::First => held.inputs.change(kind, -1),
                Covered::With => held.again_inputs.change(kind, -1),
            }
        }
        end = first;
    }
}

/// Backward for inputs alone, from the last block to the first. Activations stay in flight, because
/// backward for weights still needs them.
pub(super) fn backward_for_inputs(
    places: &[Place],
    held: &mut Held,
    show: &mut impl FnMut(Held, Where),
) {
    let mut end = places.len();
    while end > 0 {
        let (first, recomputed) = group(places, end);
        let group = places.get(first..end).unwrap_or_default();
        if recomputed {
            bring_back(group, held);
        }
        for place in group.iter().rev() {
            show(*held, Where::Block { kind: place.kind, recomputed, split: true });
        }
        end = first;
    }
}

/// Gives back the activations that waited for the weights' gradients.
fn backward_for_weights(places: &[Place], held: &mut Held) {
    for place in places {
        let kind = place.kind;
        match place.covered {
            Covered::No => held.whole.change(kind, -1),
            Covered::First => {
                held.inputs.change(kind, -1);
                held.again.change(kind, -1);
            }
            Covered::With => {
                held.again.change(kind, -1);
                held.again_inputs.change(kind, -1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

    use std::num::NonZeroU64;

    use super::{Held, Where, passes, play, stage};
    use crate::config::{
        Accelerator, Cluster, Job, ModelConfig, Overheads, ParallelLayout, PassType, PeakRates,
        Run, TrainingRun,
    };
    use crate::units::Bytes;

    fn cluster() -> Cluster {
        Cluster {
            accelerator: Accelerator {
                memory: Bytes(80 * Bytes::GIB),
                memory_bandwidth: None,
                peak: PeakRates::default(),
                accelerators_per_node: 8,
                price_per_hour: 0.0,
            },
            overheads: Overheads::NONE,
            speed: crate::config::Speed::GENERIC,
            host: crate::config::Host::ASSUMED,
            grid_grams_per_kwh: 0.0,
        }
    }

    fn job(p: u64, chunks: u64, steps: u64) -> (Job, TrainingRun) {
        let degree = |n| NonZeroU64::new(n).unwrap();
        let model = ModelConfig { num_hidden_layers: 96, ..ModelConfig::plain() };
        let layout = ParallelLayout {
            pipeline_model_parallel_size: degree(p),
            virtual_pipeline_model_parallel_size: degree(chunks),
            ..ParallelLayout::SINGLE
        };
        let run = TrainingRun {
            global_batch_size: steps,
            micro_batch_size: Some(1),
            ..TrainingRun::plain()
        };
        (Job::new(model, Run::Training(run.clone()), layout, cluster()).unwrap(), run)
    }

    /// The most blocks that stage keeps whole, the one in backward included; at the end nothing may
    /// be left.
    fn most(p: u64, chunks: u64, steps: u64, index: u64) -> u64 {
        let (job, run) = job(p, chunks, steps);
        let (stage, passes) = (stage(&job, &run, index), passes(&job.pipeline(), index));
        let (mut most, mut left) = (0, Held::default());
        play(&stage, &passes, |held, at| {
            most =
                most.max(held.whole.dense + u64::from(at != Where::Forward && at != Where::Head));
            left = held;
        });
        assert_eq!(
            passes.iter().filter(|pass| pass.work == PassType::Backward).count() * 2,
            passes.len()
        );
        assert_eq!((left.whole.dense, left.heads), (0, 0));
        most
    }

    /// Korthikanti et al. 2022, section 4.2.3: the first stage keeps `L·(1 + (p − 1)/(p·m))`
    /// blocks.
    #[test]
    fn interleaving_keeps_what_the_paper_says() {
        assert_eq!(most(8, 3, 64, 0), 124);
    }

    #[test]
    fn one_forward_one_backward_keeps_as_many_as_stages_follow() {
        assert_eq!([0, 1, 7].map(|index| most(8, 1, 64, index)), [96, 84, 12]);
        assert_eq!(most(8, 1, 2, 0), 24);
        assert_eq!(most(1, 1, 4, 0), 96);
        assert_eq!(most(1, 2, 4, 0), 96);
    }
}
