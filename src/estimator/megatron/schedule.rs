//! What a pipeline stage runs, in which order, and what it holds on the way.

use crate::config::{Job, Recompute, RecomputeMethod, TrainingRun};

/// A number for blocks with a dense feed-forward layer and one for blocks with experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PerKind {
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

    fn change(&mut self, kind: Kind, by: i64) {
        let number = match kind {
            Kind::Dense => &mut self.dense,
            Kind::Experts => &mut self.experts,
        };
        *number = number.saturating_add_signed(by);
    }
}

/// Kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Dense,
    Experts,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Dense, Self::Experts];
}

/// How full recomputation covers a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covered {
    /// Not at all: it is kept whole.
    No,
    /// Its input is kept; the blocks after it that are covered [`With`](Self::With) it are recomputed together with it.
    First,
    /// It is recomputed from an earlier block's input.
    With,
}

/// One block of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub kind: Kind,
    pub covered: Covered,
}

/// One pipeline stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// Position, from 0.
    pub index: u64,
    /// Whether it holds the embedding.
    pub embedding: bool,
    /// Whether it holds the head and computes the loss.
    pub head: bool,
    /// Its chunks of blocks: one, or several that take turns.
    pub chunks: Vec<Vec<Place>>,
    /// Messages of `[s, b, h]` kept beside the blocks' inputs: the gradient on its way to the stage before, and under interleaving
    /// what has come in ahead for the next forward and the next backward.
    pub messages: u64,
}

impl Stage {
    /// Blocks it holds.
    pub fn layers(&self) -> PerKind {
        let mut layers = PerKind::default();
        self.chunks.iter().flatten().for_each(|place| layers.change(place.kind, 1));
        layers
    }
}

/// What is in flight at a moment, whole blocks counted once for every micro-batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
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
    /// Whether nothing of it is less than in another.
    pub fn covers(&self, other: &Self) -> bool {
        self.numbers().into_iter().zip(other.numbers()).all(|(own, other)| own >= other)
    }

    const fn numbers(&self) -> [u64; 10] {
        let Self { whole, inputs, again, again_inputs, embeddings, heads } = *self;
        let (a, b, c, d) = (whole, inputs, again, again_inputs);
        [a.dense, a.experts, b.dense, b.experts, c.dense, c.experts, d.dense, d.experts, embeddings, heads]
    }
}

/// Where a stage is when it may hold most; what backward is in is not counted as [`Held`], but for its input if it is recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// The last forward before the first backward has ended.
    Forward,
    /// Loss and head of a micro-batch, forward and backward.
    Head,
    /// Backward of a block, which was kept whole or has just been recomputed.
    Block { kind: Kind, recomputed: bool },
}

/// The stages that can hold most: the only one, or the first, the second and the last.
///
/// Further ones hold what the second holds with fewer micro-batches in flight.
pub(super) fn stages(job: &Job, run: &TrainingRun) -> Vec<Stage> {
    let p = job.layout().p();
    let mut indices = vec![0, 1, p.saturating_sub(1)];
    indices.retain(|index| *index < p);
    indices.dedup();
    indices.into_iter().map(|index| stage(job, run, index)).collect()
}

/// One stage.
pub(super) fn stage(job: &Job, run: &TrainingRun, index: u64) -> Stage {
    let (p, chunks) = (job.layout().p(), job.layout().chunks());
    Stage {
        index,
        embedding: index == 0,
        head: index + 1 == p,
        chunks: (0..chunks).map(|chunk| places(job, run, index, chunk)).collect(),
        messages: match (p, chunks) {
            (1, _) => 0,
            (_, 1) => u64::from(index > 0),
            _ => 3,
        },
    }
}

/// The blocks of a chunk: chunks go round the stages. An uneven split counts for its largest part, from the end.
fn places(job: &Job, run: &TrainingRun, index: u64, chunk: u64) -> Vec<Place> {
    let (p, chunks) = (job.layout().p(), job.layout().chunks());
    let layers = job.model().num_hidden_layers;
    let each = layers.div_ceil(p.saturating_mul(chunks).max(1));
    let first = chunk.saturating_mul(p).saturating_add(index).saturating_mul(each).min(layers.saturating_sub(each));
    let kind = |layer| if job.model().moe_at(layer).is_some() { Kind::Experts } else { Kind::Dense };
    let place = |place: u64| Place { kind: kind(first.saturating_add(place)), covered: covered(run, place) };
    (0..each).map(place).collect()
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

/// One chunk of one micro-batch, forward or backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub chunk: usize,
    pub backward: bool,
}

/// The order of forward and backward passes.
///
/// One forward, one backward: `p − i − 1` micro-batches ahead. Interleaved (`forward_backward_pipelining_with_interleaving`):
/// `2(p − i − 1) + (v − 1)·g` chunks ahead, in groups of `g` micro-batches per chunk; backward takes the chunks in reverse.
/// More micro-batches than fill the pipeline twice repeat what these hold.
pub(super) fn passes(job: &Job, run: &TrainingRun, index: u64) -> Vec<Pass> {
    let (p, chunks) = (job.layout().p(), job.layout().chunks());
    let (steps, group) = (steps(job, run), group(job, run));
    let behind = p.saturating_sub(index).saturating_sub(1);
    let (order, ahead) = if chunks == 1 || p == 1 {
        // Without a pipeline the chunks of a micro-batch follow each other.
        let order: Vec<usize> = (0..steps).flat_map(|_| chunks_of(chunks)).collect();
        (order, behind.saturating_add(1).saturating_mul(chunks) - 1)
    } else {
        (interleaved(steps, group, chunks), behind.saturating_mul(2).saturating_add((chunks - 1).saturating_mul(group)))
    };
    let last = usize::try_from(chunks).unwrap_or(1).saturating_sub(1);
    let ahead = usize::try_from(ahead).unwrap_or(usize::MAX).min(order.len().saturating_sub(1));
    let forward = order.iter().map(|&chunk| Pass { chunk, backward: false });
    let backward = order.iter().map(|&chunk| Pass { chunk: last - chunk.min(last), backward: true });
    if chunks > 1 && p == 1 {
        let [forward, backward]: [Vec<Pass>; 2] = [forward.collect(), backward.collect()];
        return one_by_one(&forward, &backward, last + 1);
    }
    let mut passes: Vec<Pass> = forward.clone().take(ahead).collect();
    for (forward, backward) in forward.skip(ahead).zip(backward.clone()) {
        passes.extend([forward, backward]);
    }
    passes.extend(backward.skip(order.len() - ahead));
    passes
}

/// Consecutive micro-batches of one chunk.
fn group(job: &Job, run: &TrainingRun) -> u64 {
    run.megatron.microbatch_group_size_per_vp_stage.map_or_else(|| job.layout().p(), std::num::NonZeroU64::get)
}

/// Micro-batches that are played: all, or as many as fill the pipeline twice.
pub(super) fn steps(job: &Job, run: &TrainingRun) -> u64 {
    job.gradient_accumulation_steps().min(job.layout().p().max(group(job, run)).saturating_mul(2).saturating_add(1))
}

/// All chunks of a micro-batch forward, then all backward.
fn one_by_one(forward: &[Pass], backward: &[Pass], chunks: usize) -> Vec<Pass> {
    forward.chunks(chunks).zip(backward.chunks(chunks)).flat_map(|(forward, backward)| [forward, backward].concat()).collect()
}

fn chunks_of(chunks: u64) -> impl Iterator<Item = usize> {
    0..usize::try_from(chunks).unwrap_or(1)
}

/// The chunk of every forward pass.
fn interleaved(steps: u64, group: u64, chunks: u64) -> Vec<usize> {
    let mut order = Vec::new();
    let mut done = 0;
    while done < steps {
        let size = group.min(steps - done);
        for chunk in chunks_of(chunks) {
            order.extend((0..size).map(|_| chunk));
        }
        done = done.saturating_add(size);
    }
    order
}

/// Plays the passes and shows what is held wherever that may be most.
pub(super) fn play(stage: &Stage, passes: &[Pass], mut show: impl FnMut(Held, Where)) {
    let mut held = Held::default();
    let last = stage.chunks.len().saturating_sub(1);
    let first_backward = passes.iter().position(|pass| pass.backward);
    for (number, pass) in passes.iter().enumerate() {
        let Some(places) = stage.chunks.get(pass.chunk) else { continue };
        let with_head = stage.head && pass.chunk == last;
        if pass.backward {
            if first_backward == Some(number) {
                show(held, Where::Forward);
            }
            if with_head {
                held.heads = held.heads.saturating_sub(1);
                show(held, Where::Head);
            }
            backward(places, &mut held, &mut show);
            if stage.embedding && pass.chunk == 0 {
                held.embeddings = held.embeddings.saturating_sub(1);
            }
        } else {
            if stage.embedding && pass.chunk == 0 {
                held.embeddings = held.embeddings.saturating_add(1);
            }
            for place in places {
                match place.covered {
                    Covered::No => held.whole.change(place.kind, 1),
                    Covered::First => held.inputs.change(place.kind, 1),
                    Covered::With => {}
                }
            }
            held.heads = held.heads.saturating_add(u64::from(with_head));
        }
    }
}

/// Blocks from the last to the first; those of a group are brought back when backward reaches the group.
fn backward(places: &[Place], held: &mut Held, show: &mut impl FnMut(Held, Where)) {
    let mut end = places.len();
    while end > 0 {
        let first = places.iter().take(end).rposition(|place| place.covered != Covered::With).unwrap_or(0);
        let group = places.get(first..end).unwrap_or_default();
        let recomputed = group.first().is_some_and(|place| place.covered != Covered::No);
        if recomputed {
            for place in group {
                held.again.change(place.kind, 1);
                held.again_inputs.change(place.kind, i64::from(place.covered == Covered::With));
            }
        }
        for place in group.iter().rev() {
            let kind = place.kind;
            if recomputed {
                held.again.change(kind, -1);
            } else {
                held.whole.change(kind, -1);
            }
            show(*held, Where::Block { kind, recomputed });
            match place.covered {
                Covered::No => {}
                Covered::First => held.inputs.change(kind, -1),
                Covered::With => held.again_inputs.change(kind, -1),
            }
        }
        end = first;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

    use std::num::NonZeroU64;

    use super::{Held, Where, passes, play, stage};
    use crate::config::{Accelerator, Cluster, Job, ModelConfig, Overheads, ParallelLayout, PeakRates, Run, TrainingRun};
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
            overheads: Overheads { framework_context: Bytes::ZERO, fragmentation_percent: 0.0 },
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
        let run = TrainingRun { global_batch_size: steps, micro_batch_size: Some(1), ..TrainingRun::plain() };
        (Job::new(model, Run::Training(run.clone()), layout, cluster()).unwrap(), run)
    }

    /// The most blocks that stage keeps whole, the one in backward included; at the end nothing may be left.
    fn most(p: u64, chunks: u64, steps: u64, index: u64) -> u64 {
        let (job, run) = job(p, chunks, steps);
        let (stage, passes) = (stage(&job, &run, index), passes(&job, &run, index));
        let (mut most, mut left) = (0, Held::default());
        play(&stage, &passes, |held, at| {
            most = most.max(held.whole.dense + u64::from(at != Where::Forward && at != Where::Head));
            left = held;
        });
        assert_eq!(passes.iter().filter(|pass| pass.backward).count() * 2, passes.len());
        assert_eq!((left.whole.dense, left.heads), (0, 0));
        most
    }

    /// Korthikanti et al. 2022, section 4.2.3: the first stage keeps `L·(1 + (p − 1)/(p·m))` blocks.
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
