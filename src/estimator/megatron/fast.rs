//! Memory of many layouts under Megatron-LM, by arithmetic alone.
//!
//! What one rank saves, multiplies and recomputes in a block depends on few numbers (tensor, context and expert degrees, micro-batch,
//! sequence parallelism, recomputation): [`RankSizes`] holds it. How blocks are dealt out over stages adds [`StageSizes`], what the
//! schedule keeps in flight [`Flights`]; a layout's memory is then sums and products of these. The ledger's own way plays the schedule
//! block by block; a property test holds both to the same bytes.

use super::schedule::{self, Held, Kind, Stage, Where};
use super::states::{Amounts, Lines, per_parameter_lines};
use super::{At, SLOTS, Scope, Sizes, fsdp, lines, slot, total};
use crate::config::{DataSharding, Job, ParallelLayout, Pipeline, TrainingRun, Work};
use crate::estimator::overhead;
use crate::ops::megatron::{RankModel, rank_model};
use crate::units::Bytes;

/// Sizes that the operations of one rank decide, for a training job under Megatron-LM.
///
/// They hold for every layout with the same tensor, context, expert and expert-tensor degrees and sequence parallelism, and every run
/// with the same micro-batch and recomputation; pipeline, data-parallel ranks, sharding and schedule are free.
#[derive(Clone, Debug)]
pub struct RankSizes {
    job: Job,
    run: TrainingRun,
    model: RankModel,
    lines: Lines,
}

/// Sizes of one rank of a pipeline: its blocks, ends and buffers.
#[derive(Clone, Debug)]
pub struct StageSizes {
    amounts: Amounts,
    buffers: Bytes,
    chunks: Vec<ChunkSizes>,
    /// The most that backward is in, by [`slot`].
    inside: [Bytes; SLOTS],
    /// Gathered weights and waiting gradients in the head and in blocks: where gradients are shared out, and weights too.
    moved: [[Bytes; 2]; 2],
}

/// Sizes of one chunk of blocks.
#[derive(Clone, Copy, Debug, Default)]
struct ChunkSizes {
    /// What a micro-batch keeps, without the head.
    saved: Bytes,
    head: Bytes,
    /// What it keeps between backward for inputs and backward for weights.
    waiting: Bytes,
    /// The most of it while backward runs, by [`slot`]: whole, and for inputs alone.
    backward: [[Option<Bytes>; SLOTS]; 2],
}

/// What a rank has in flight when a backward pass begins, wherever that may be most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flights(Vec<Flight>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    chunk: usize,
    /// Backward for inputs alone.
    split: bool,
    /// Micro-batches of each chunk before their backward, the one at hand included.
    forward: Vec<u64>,
    /// Micro-batches of each chunk that wait for their weights.
    waiting: Vec<u64>,
}

impl Flight {
    fn covers(&self, other: &Self) -> bool {
        let above = |ours: &[u64], theirs: &[u64]| ours.iter().zip(theirs).all(|(ours, theirs)| ours >= theirs);
        let same = self.chunk == other.chunk && self.split == other.split;
        same && above(&self.forward, &other.forward) && above(&self.waiting, &other.waiting)
    }
}

impl Flights {
    /// Of a rank of a pipeline. Worth keeping: it depends on the pipeline alone.
    pub fn of(pipeline: &Pipeline, rank: u64) -> Self {
        let chunks = usize::try_from(pipeline.chunks_on_rank()).unwrap_or(1);
        let mut now = Flight { chunk: 0, split: false, forward: vec![0; chunks], waiting: vec![0; chunks] };
        let mut found: Vec<Flight> = Vec::with_capacity(2 * chunks);
        for pass in schedule::passes(pipeline, rank) {
            let change = |counts: &mut Vec<u64>, by: i64| {
                if let Some(count) = counts.get_mut(pass.chunk) {
                    *count = count.saturating_add_signed(by.saturating_mul(i64::try_from(pass.times).unwrap_or(i64::MAX)));
                }
            };
            match pass.work {
                Work::Forward => change(&mut now.forward, 1),
                Work::Backward | Work::BackwardInput => {
                    now.chunk = pass.chunk;
                    now.split = pass.work == Work::BackwardInput;
                    if !found.iter().any(|known| known.covers(&now)) {
                        found.retain(|known| !now.covers(known));
                        found.push(now.clone());
                    }
                    change(&mut now.forward, -1);
                    if now.split {
                        change(&mut now.waiting, 1);
                    }
                }
                Work::BackwardWeight => change(&mut now.waiting, -1),
            }
        }
        Self(found)
    }
}

impl RankSizes {
    /// Of a training job under Megatron-LM; `None` for other jobs.
    pub fn of(job: &Job) -> Option<Self> {
        let run = super::super::megatron_run(job)?;
        Some(Self { job: job.clone(), run: run.clone(), model: rank_model(job, run), lines: per_parameter_lines(run) })
    }

    /// The ranks of a layout's pipeline that can hold most, and their sizes; data-parallel ranks, sharding and micro-batches of a step
    /// are free. Under offloaded activations no sum knows the answer: empty.
    pub fn stages(&self, layout: &ParallelLayout) -> Vec<(u64, StageSizes)> {
        if layout.offload.activations {
            return Vec::new();
        }
        let job = self.job.with_layout(*layout);
        schedule::stages(&job, &self.run).into_iter().map(|stage| (stage.index, self.stage(&job, stage))).collect()
    }

    fn stage(&self, job: &Job, stage: Stage) -> StageSizes {
        let scope = Scope { job, run: &self.run, model: &self.model, stage };
        let sizes = scope.sizes();
        let mut buffers = Vec::with_capacity(8);
        lines::buffers(&scope, &mut buffers);
        let mut inside = [Bytes::ZERO; SLOTS];
        for at in scope.places() {
            if let Some(most) = inside.get_mut(slot(at.place())) {
                *most = (*most).max(scope.inside(at).iter().map(super::Entry::bytes).sum());
            }
        }
        let block = At::Block { kind: Kind::Dense, recomputed: false, split: false, place: 0 };
        let moved = |sharding| {
            let shared = job.with_layout(ParallelLayout { sharding, ..*job.layout() });
            let scope = Scope { job: &shared, run: &self.run, model: &self.model, stage: scope.stage.clone() };
            let moving = fsdp::Moving::among_ranks(&scope);
            [At::Head(0), block].map(|at| total(&moving.lines(&scope, at)))
        };
        StageSizes {
            amounts: Amounts::of(&scope),
            buffers: total(&buffers),
            chunks: (0..scope.stage.chunks.len()).map(|chunk| chunk_sizes(&scope.stage, chunk, &sizes)).collect(),
            inside,
            moved: [moved(DataSharding::Zero2), moved(DataSharding::Fsdp)],
        }
    }

    /// Bytes on a rank, overheads included: what `estimate` of that layout adds up to on that stage.
    pub fn memory(&self, layout: &ParallelLayout, stage: &StageSizes, flights: &Flights) -> Bytes {
        let (states, weights) = stage.amounts.bytes(&self.lines, layout);
        let allocated = states + stage.buffers + stage.most_beside(layout, flights);
        allocated + overhead::total(&self.job, layout, allocated, weights)
    }

    /// Bytes on the rank that holds most, overheads included, of a layout that differs from the job's in nothing that decides the sizes.
    ///
    /// For one layout; who asks for many keeps [`Self::stages`] and [`Flights`].
    pub fn most(&self, layout: &ParallelLayout) -> Option<Bytes> {
        let pipeline = self.job.with_layout(*layout).pipeline();
        let memory = |(rank, stage): &(u64, StageSizes)| self.memory(layout, stage, &Flights::of(&pipeline, *rank));
        self.stages(layout).iter().map(memory).max()
    }
}

impl StageSizes {
    /// The most that is alive beside states and buffers.
    fn most_beside(&self, layout: &ParallelLayout, flights: &Flights) -> Bytes {
        let moves = layout.sharding.shards_gradients() && layout.shards().saturating_mul(layout.cp()) > 1;
        let [gradients, weights] = self.moved;
        let moved = match moves {
            true if layout.sharding.shards_parameters() => weights,
            true => gradients,
            false => [Bytes::ZERO; 2],
        };
        let mut most = Bytes::ZERO;
        for flight in &flights.0 {
            let Some(own) = self.chunks.get(flight.chunk) else { continue };
            let counts = flight.forward.iter().zip(&flight.waiting);
            let all: Bytes = self
                .chunks
                .iter()
                .zip(counts)
                .map(|(chunk, (forward, waiting))| (chunk.saved + chunk.head) * *forward + chunk.waiting * *waiting)
                .sum();
            let others = all.saturating_sub(own.saved + own.head);
            let [whole, for_inputs] = &own.backward;
            let backward = if flight.split { for_inputs } else { whole };
            for (number, (held, inside)) in backward.iter().zip(&self.inside).enumerate() {
                let [head, block] = moved;
                if let Some(held) = held {
                    most = most.max(others + *held + *inside + if number == 0 { head } else { block });
                }
            }
        }
        most
    }
}

/// Runs one micro-batch through one chunk.
fn chunk_sizes(stage: &Stage, chunk: usize, sizes: &Sizes) -> ChunkSizes {
    let Some(places) = stage.chunks.get(chunk) else { return ChunkSizes::default() };
    let ends = (stage.embedding == Some(chunk), stage.head == Some(chunk));
    let mut held = Held::default();
    schedule::forward(places, (ends.0, false), 1, &mut held);
    let saved = sizes.of(&held);
    let head = if ends.1 { sizes.head } else { Bytes::ZERO };
    let mut backward = [[None; SLOTS]; 2];
    let mut waiting = Bytes::ZERO;
    for (most, split) in backward.iter_mut().zip([false, true]) {
        let mut held = held;
        let mut show = |held: Held, at: Where| {
            if let Some(most) = most.get_mut(slot(at)) {
                let bytes = sizes.of(&held);
                *most = Some(most.map_or(bytes, |most: Bytes| most.max(bytes)));
            }
        };
        if ends.1 {
            show(held, Where::Head);
        }
        if split {
            schedule::backward_for_inputs(places, &mut held, &mut show);
            waiting = sizes.of(&held);
        } else {
            schedule::backward(places, &mut held, &mut show);
        }
    }
    ChunkSizes { saved, head, waiting, backward }
}
