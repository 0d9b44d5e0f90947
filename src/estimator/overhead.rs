//! Memory outside the model, as visible lines.

use super::ledger::{Certainty, LineItem, MemoryKind, sort_by_kind};
use super::reservation;
use crate::config::{Job, Kernels, ParallelLayout, Run};
use crate::sources::{self, Source};
use crate::units::{Bytes, Elements};

/// Label of the line that no layout makes smaller.
pub const FRAMEWORK_CONTEXT: &str = "Framework context";

/// Label of the buffer in which `DeepSpeed` reduces gradients.
pub const REDUCTION_BUCKET: &str = "Reduction bucket";

/// One overhead.
struct Overhead {
    kind: MemoryKind,
    label: &'static str,
    bytes: Bytes,
    note: &'static str,
    source: Source,
    certainty: Certainty,
}

/// Adds what stands beside the model: framework context, buffers of communication, reserves.
pub(super) fn add(job: &Job, lines: &mut Vec<LineItem>) {
    let allocated: Bytes = lines.iter().map(|line| line.bytes).sum();
    let weights: Bytes = lines.iter().filter(|line| line.kind == MemoryKind::Parameter).map(|line| line.bytes).sum();
    let found = all(job, allocated, weights).into_iter().filter(|line| line.bytes > Bytes::ZERO);
    lines.extend(found.map(|Overhead { kind, label, bytes, note, source, certainty }| LineItem {
        kind,
        label,
        bytes,
        tensors: Vec::new(),
        note,
        source,
        certainty,
    }));
    sort_by_kind(lines);
}

/// The same overheads on top of sums by kind.
pub(super) fn on_top(job: &Job, mut by_kind: [Bytes; 7]) -> [Bytes; 7] {
    let allocated = by_kind.into_iter().sum();
    let weights = by_kind.get(MemoryKind::Parameter.index()).copied().unwrap_or(Bytes::ZERO);
    for (kind, bytes) in KINDS.into_iter().zip(amounts(job, allocated, weights)) {
        if let Some(sum) = by_kind.get_mut(kind.index()) {
            *sum += bytes;
        }
    }
    by_kind
}

/// The kinds of [`amounts`].
const KINDS: [MemoryKind; 5] =
    [MemoryKind::Framework, MemoryKind::Framework, MemoryKind::Temporary, MemoryKind::Framework, MemoryKind::Framework];

/// Context, communicator buffers, reduction bucket, fragmentation reserve and serving overhead; those that are not there are 0.
fn amounts(job: &Job, allocated: Bytes, weights: Bytes) -> [Bytes; 5] {
    let layout = job.layout();
    let overheads = job.cluster().overheads;
    let serving = if let Run::Serving(run) = job.run() { run.overhead_percent } else { 0.0 };
    let bucket = bucket(job, layout);
    [
        overheads.framework_context,
        overheads.communicator_buffers * communicators(layout),
        bucket,
        (allocated + bucket).percent(reservation::fragmentation_percent(job)),
        weights.percent(serving),
    ]
}

/// Every overhead.
fn all(job: &Job, allocated: Bytes, weights: Bytes) -> [Overhead; 5] {
    let [context, buffers, bucket, reserve, serving] = amounts(job, allocated, weights);
    let framework = |label, bytes, note, source| {
        let (kind, certainty) = (MemoryKind::Framework, Certainty::Assumed);
        Overhead { kind, label, bytes, note, source, certainty }
    };
    let of_context = "Driver context and loaded kernels, before the first tensor.";
    let of_buffers = "Buffers of every group of GPUs that exchange something, as large as set under Reserve.";
    let of_bucket =
        "DeepSpeed joins gradients in this buffer before it reduces them (reduce_bucket_size); there from the first backward on.";
    let of_reserve = "A share of everything above, kept free for the allocator.";
    let of_serving = "A share of the weights, as three of the five documents add it.";
    [
        framework(FRAMEWORK_CONTEXT, context, of_context, sources::CUDA_CONTEXT),
        framework("Communicator buffers", buffers, of_buffers, sources::NCCL),
        Overhead {
            kind: MemoryKind::Temporary,
            certainty: Certainty::Modelled,
            ..framework(REDUCTION_BUCKET, bucket, of_bucket, sources::DEEPSPEED)
        },
        framework("Fragmentation reserve", reserve, of_reserve, sources::RESERVE),
        framework("Inference overhead", serving, of_serving, sources::SERVING_OVERHEAD),
    ]
}

/// `DeepSpeed`'s buffer of gradients, allocated whole (`runtime/zero/stage_1_and_2.py`, `stage3.py`); nothing under other stacks.
///
/// Stage 1 and 2 take a second one where `overlap_comm` is set, which is not their default. Gathers of stages 1 and 2 write into the
/// weights themselves, whatever `allgather_bucket_size` is; live parameters of stage 3 are among the gathered weights.
fn bucket(job: &Job, layout: &ParallelLayout) -> Bytes {
    let Some(run) = job.training() else { return Bytes::ZERO };
    let there =
        layout.sharding.has_reduction_bucket && layout.shards() > 1 && matches!(run.kernels, Kernels::Eager | Kernels::Fused);
    if there { Elements(run.reduce_bucket_size).stored_as(run.recipe().gradient) } else { Bytes::ZERO }
}

/// Groups of ranks that exchange something: tensor, pipeline, context, expert, sharding and replica groups of more than one rank.
fn communicators(layout: &ParallelLayout) -> u64 {
    let degrees = [layout.t(), layout.p(), layout.cp(), layout.ep(), layout.shards(), layout.replicas()];
    degrees.into_iter().map(|degree| u64::from(degree > 1)).sum()
}
