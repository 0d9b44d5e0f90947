//! Which blocks a pipeline stage holds, and how many of them are between forward and backward at once.

use crate::config::{Job, Recompute, RecomputeMethod, TrainingRun};

/// A number for blocks with a dense feed-forward layer and one for blocks with experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

    fn add(&mut self, kind: Kind, count: u64) {
        match kind {
            Kind::Dense => self.dense = self.dense.saturating_add(count),
            Kind::Experts => self.experts = self.experts.saturating_add(count),
        }
    }
}

/// Kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Dense,
    Experts,
}

/// One pipeline stage at the time when it keeps most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// Position, from 0.
    pub index: u64,
    /// Whether it holds the embedding.
    pub embedding: bool,
    /// Whether it holds the head and computes the loss.
    pub head: bool,
    /// Blocks it holds.
    pub layers: PerKind,
    /// Blocks kept whole, counted once for every micro-batch in flight.
    pub whole: PerKind,
    /// Inputs of recomputed blocks kept, counted likewise.
    pub inputs: PerKind,
    /// Micro-batches whose embedding is in flight.
    pub embeddings: u64,
    /// The kind of the block that backward enters first.
    pub entered: Kind,
    /// Whether that block is recomputed, and how many blocks with it.
    pub recomputed: u64,
    /// Messages of `[s, b, h]` kept beside the blocks' inputs: the gradient on its way to the stage before, and under interleaving
    /// what has come in ahead for the next forward and the next backward.
    pub messages: u64,
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
    let layout = job.layout();
    let (p, chunks) = (layout.p(), layout.chunks());
    let mut stage = Stage {
        index,
        embedding: index == 0,
        head: index + 1 == p,
        layers: PerKind::default(),
        whole: PerKind::default(),
        inputs: PerKind::default(),
        embeddings: 0,
        entered: Kind::Dense,
        recomputed: 0,
        messages: match (p, chunks) {
            (1, _) => 0,
            (_, 1) => u64::from(index > 0),
            _ => 3,
        },
    };
    for (chunk, in_flight) in in_flight(job, run, index).into_iter().enumerate() {
        let chunk = u64::try_from(chunk).unwrap_or(u64::MAX);
        let layers = layers_of(job, index, chunk);
        if chunk == 0 && stage.embedding {
            stage.embeddings = in_flight;
        }
        add_chunk(job, run, &layers, in_flight, &mut stage);
    }
    stage
}

/// The blocks of a chunk, by number: chunks go round the stages.
fn layers_of(job: &Job, index: u64, chunk: u64) -> Vec<u64> {
    let (p, chunks) = (job.layout().p(), job.layout().chunks());
    let layers = job.model().num_hidden_layers;
    let each = layers.div_ceil(p.saturating_mul(chunks).max(1));
    let first = chunk.saturating_mul(p).saturating_add(index).saturating_mul(each);
    // An uneven split counts for its largest part, from the end.
    let first = first.min(layers.saturating_sub(each));
    (first..first.saturating_add(each).min(layers)).collect()
}

fn add_chunk(job: &Job, run: &TrainingRun, layers: &[u64], in_flight: u64, stage: &mut Stage) {
    let kind = |layer: u64| if job.model().moe_at(layer).is_some() { Kind::Experts } else { Kind::Dense };
    let count = u64::try_from(layers.len()).unwrap_or(u64::MAX);
    for (place, &layer) in layers.iter().enumerate() {
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        stage.layers.add(kind(layer), 1);
        let covered = covered(run, place, count);
        match covered {
            Covered::No => stage.whole.add(kind(layer), in_flight),
            Covered::First => stage.inputs.add(kind(layer), in_flight),
            Covered::With => {}
        }
        if in_flight > 0 && place + 1 == count {
            stage.entered = kind(layer);
            stage.recomputed = match (covered, run.megatron.recompute_method) {
                (Covered::No, _) => 0,
                (_, RecomputeMethod::Uniform(blocks)) => blocks.get().min(count),
                (_, RecomputeMethod::Block(_)) => 1,
            };
        }
    }
}

/// How full recomputation covers a block.
#[derive(Clone, Copy)]
enum Covered {
    /// Not at all: it is kept whole.
    No,
    /// Its input is kept.
    First,
    /// It is recomputed from an earlier block's input.
    With,
}

fn covered(run: &TrainingRun, place: u64, count: u64) -> Covered {
    if run.recompute != Recompute::Full {
        return Covered::No;
    }
    match run.megatron.recompute_method {
        RecomputeMethod::Uniform(blocks) if place.is_multiple_of(blocks.get()) => Covered::First,
        RecomputeMethod::Uniform(_) => Covered::With,
        RecomputeMethod::Block(blocks) if place < blocks.min(count) => Covered::First,
        RecomputeMethod::Block(_) => Covered::No,
    }
}

/// Micro-batches in flight of each chunk when the first backward begins, which is when a stage keeps most.
///
/// One forward, one backward: `min(p − i, m)`. Interleaved (`forward_backward_pipelining_with_interleaving`): the warm-up runs
/// `2(p − i − 1) + (v − 1)·g` chunks forward, in groups of `g` micro-batches per chunk, and one more before the first backward.
fn in_flight(job: &Job, run: &TrainingRun, index: u64) -> Vec<u64> {
    let (p, chunks) = (job.layout().p(), job.layout().chunks());
    let steps = job.gradient_accumulation_steps();
    if chunks == 1 || p == 1 {
        let behind = p.saturating_sub(index).min(steps).max(1);
        return vec![behind; usize::try_from(chunks).unwrap_or(1)];
    }
    let group = run.megatron.microbatch_group_size_per_vp_stage.map_or(p, std::num::NonZeroU64::get);
    let behind = p.saturating_sub(index).saturating_sub(1).saturating_mul(2);
    let forward = behind.saturating_add((chunks - 1).saturating_mul(group)).saturating_add(1).min(steps.saturating_mul(chunks));
    let mut left = forward;
    let mut counts = vec![0_u64; usize::try_from(chunks).unwrap_or(1)];
    let mut done = 0_u64;
    while left > 0 && done < steps {
        let size = group.min(steps - done);
        for count in &mut counts {
            let taken = size.min(left);
            *count = count.saturating_add(taken);
            left -= taken;
        }
        done = done.saturating_add(size);
    }
    counts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

    use std::num::NonZeroU64;

    use super::{PerKind, stage};
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

    /// Korthikanti et al. 2022, section 4.2.3: the first stage keeps `L·(1 + (p − 1)/(p·m))` blocks.
    #[test]
    fn interleaving_keeps_what_the_paper_says() {
        let (job, run) = job(8, 3, 64);
        assert_eq!(stage(&job, &run, 0).whole, PerKind { dense: 124, experts: 0 });
    }

    #[test]
    fn one_forward_one_backward_keeps_as_many_as_stages_follow() {
        let (job, run) = job(8, 1, 64);
        assert_eq!([0, 1, 7].map(|index| stage(&job, &run, index).whole.dense), [96, 84, 12]);
        let (job, run) = self::job(8, 1, 2);
        assert_eq!(stage(&job, &run, 0).whole.dense, 24);
    }
}
