//! The memory that a serving program takes for its cache and the memory that it keeps free: the
//! figures that it prints when it starts.

use super::drafting::Drafted;
use super::ledger::{Certainty, LineItem, MemoryKind};
use super::placed::Placed;
use super::served;
use super::stage::Stage;
use crate::config::{CachePart, Job, Run, ServingRun};
use crate::engines::CacheMemory;
use crate::ops;
use crate::sources::{self, Source};
use crate::units::{Bytes, to_f64};

/// Label of the memory that a program leaves free beside weights and cache.
pub const KEPT_FREE: &str = "Left free by the server";

/// Label of the memory that captured graphs keep.
pub const CUDA_GRAPHS: &str = "CUDA graphs";

/// The room for keys and values on the most loaded rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRoom {
    /// Memory for the cache.
    pub bytes: Bytes,
    /// Bytes of the room that one sequence of the whole context takes, without those that all
    /// sequences share.
    pub per_sequence: Bytes,
    /// Tokens of one block.
    pub block_size: u64,
    /// Blocks; `None` where layers look back on different lengths, so that their blocks are not
    /// alike.
    pub blocks: Option<u64>,
    /// Sequences of the whole context that find room at the same time.
    pub concurrency: f64,
}

impl CacheRoom {
    /// Returns the tokens that find room, `blocks · block_size`; `None` as for `blocks`.
    pub fn tokens(&self) -> Option<u64> {
        self.blocks.map(|blocks| blocks.saturating_mul(self.block_size))
    }
}

/// Returns how many whole blocks of the cache find room, as vLLM counts them: `⌊memory / block⌋`.
///
/// `memory` is the room for the cache, `block` the bytes of one block in all layers.
///
/// ```
/// # use headroom::estimator::blocks_in;
/// # use headroom::units::Bytes;
/// // Llama 2 7B on one A100 (vLLM's pull request 2031): 16 tokens of 524 288 bytes.
/// assert_eq!(blocks_in(Bytes(61_664_991_478), Bytes(16 * 524_288)), 7351);
/// ```
pub fn blocks_in(memory: Bytes, block: Bytes) -> u64 {
    memory.0 / block.0.max(1)
}

/// Returns how many sequences of that length so many blocks hold, as vLLM prints its maximum
/// concurrency: `blocks / ⌈tokens / block_size⌉`.
///
/// `block_size` and `tokens` are tokens. Sequences share no blocks.
///
/// ```
/// # use headroom::estimator::concurrency;
/// // A sequence of 4 090 tokens takes 256 blocks of 16 tokens, the last of them partly filled.
/// assert!((concurrency(512, 16, 4090) - 2.0).abs() < 1e-12);
/// ```
pub fn concurrency(blocks: u64, block_size: u64, tokens: u64) -> f64 {
    to_f64(blocks) / to_f64(tokens.div_ceil(block_size.max(1)).max(1))
}

/// Adds the memory that the serving program takes or leaves beside weights, cache and working sets.
pub(super) fn add(job: &Job, lines: &mut Vec<LineItem>) {
    if let Run::Serving(run) = job.run() {
        of_run(job, run, lines);
    }
}

fn of_run(job: &Job, run: &ServingRun, lines: &mut Vec<LineItem>) {
    let sum = |counts: fn(MemoryKind) -> bool| {
        lines.iter().filter(|line| counts(line.kind)).map(|line| line.bytes).sum::<Bytes>()
    };
    let used = sum(|kind| kind == MemoryKind::Temporary);
    let beside_cache = sum(|kind| kind != MemoryKind::KvCache);
    let mut push = |label, bytes: Bytes, note, source: Source, certainty| {
        if bytes > Bytes::ZERO {
            lines.push(LineItem {
                kind: MemoryKind::Framework,
                label,
                bytes,
                tensors: Vec::new(),
                note,
                source,
                certainty,
            });
        }
    };
    let graphs = "What captured graphs of decode steps keep, as large as set under Reserve.";
    push(CUDA_GRAPHS, run.cuda_graphs, graphs, sources::SERVING_GRAPHS, Certainty::Assumed);
    let capacity = job.cluster().accelerator.memory;
    if let Some(share) = &run.engine.share {
        let context = if share.is_beside_context {
            job.cluster().overheads.framework_context
        } else {
            Bytes::ZERO
        };
        let taken = if share.leaves_room_for_working_sets { used } else { Bytes::ZERO };
        let of = if share.is_of_the_rest { beside_cache + run.cuda_graphs } else { context };
        let left = capacity.saturating_sub(of).percent((1.0 - run.engine.memory_share) * 100.0);
        let taken = if share.is_of_the_rest { Bytes::ZERO } else { taken + run.cuda_graphs };
        push(KEPT_FREE, left.saturating_sub(taken), share.note, share.source, Certainty::Modelled);
    }
}

/// Returns the reserve for fragmentation that counts, per cent: 0 where a serving program keeps its
/// own reserve, else the one that the job states.
pub fn fragmentation_percent(job: &Job) -> f64 {
    match job.run() {
        Run::Serving(run) if run.engine.keeps_own_reserve => 0.0,
        Run::Serving(_) | Run::Training(_) => job.cluster().overheads.fragmentation_percent,
    }
}

/// The room for the cache on that stage, of which `lines` are all lines; `None` when training,
/// and where no cache lies on the device.
pub(super) fn room(job: &Job, stage: &Stage, lines: &[LineItem]) -> Option<CacheRoom> {
    let Run::Serving(run) = job.run() else { return None };
    if Placed::of(job).is_some_and(|placed| placed.cache || stage.layers == 0) {
        return None;
    }
    let context = run.context_length;
    let (mut per_sequence, mut shared) = served::cached_by(job, run, stage.range());
    let drafted = Drafted::of(job, run).filter(|_| stage.head);
    if let Some(drafted) = &drafted {
        let (each, of_all) = served::cached_by(&drafted.job, run, drafted.layers.clone());
        per_sequence += each;
        shared += of_all;
    }
    let now: Bytes =
        lines.iter().filter(|line| line.kind == MemoryKind::KvCache).map(|line| line.bytes).sum();
    let bytes = match run.engine.cache {
        CacheMemory::AsAskedFor => now,
        CacheMemory::AllThatIsLeft => {
            let percent = fragmentation_percent(job);
            let total: Bytes = lines.iter().map(|line| line.bytes).sum();
            let rest = total.saturating_sub(now + now.percent(percent));
            let left = job.cluster().accelerator.memory.saturating_sub(rest);
            left.saturating_sub(left.percent(100.0 * percent / (100.0 + percent)))
        }
    };
    let model = job.model();
    let first = model.visible(stage.first, context);
    let grows = model.cache.0.iter().all(CachePart::grows);
    let alike = grows
        && model.mixer().is_none()
        && model.beside().is_none()
        && stage.range().all(|layer| model.visible(layer, context) == first)
        && drafted.as_ref().is_none_or(|drafted| first == context && drafted.cache_is_alike());
    let block_size = run.block();
    let blocks = alike.then(|| {
        let with = ops::lowering(job);
        let one = ops::Lowering {
            context_length: block_size,
            concurrent_sequences: 1,
            shared_prefix: 0,
            ..with
        };
        let of_draft = drafted.as_ref().map_or(Bytes::ZERO, |drafted| {
            let one = ops::Lowering {
                context_length: block_size,
                concurrent_sequences: 1,
                shared_prefix: 0,
                ..ops::lowering(&drafted.job)
            };
            served::held(&drafted.job, &one, drafted.layers.clone())
        });
        blocks_in(bytes, served::held(job, &one, stage.range()) + of_draft)
    });
    let concurrency = match blocks {
        Some(blocks) if shared == Bytes::ZERO => concurrency(blocks, block_size, first),
        _ => bytes.saturating_sub(shared).as_f64() / per_sequence.as_f64().max(1.0),
    };
    Some(CacheRoom { bytes, per_sequence, block_size, blocks, concurrency })
}
