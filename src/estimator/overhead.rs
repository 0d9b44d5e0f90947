//! Memory outside the model, as visible lines.

use super::ledger::{Certainty, LineItem, MemoryKind, sort_by_kind};
use super::reservation;
use crate::config::{Job, ParallelLayout, Run};
use crate::sources::{self, Source};
use crate::units::Bytes;

/// Label of the line that no layout makes smaller.
pub const FRAMEWORK_CONTEXT: &str = "Framework context";

/// Label of the line that a user keeps from a log.
pub const MEASURED_BEYOND: &str = "Measured minus predicted";

/// One overhead.
struct Overhead {
    kind: MemoryKind,
    label: &'static str,
    bytes: Bytes,
    note: &'static str,
    source: Source,
    certainty: Certainty,
}

/// Adds the memory beside the model: framework context, buffers of communication, reserves.
pub(super) fn add(job: &Job, lines: &mut Vec<LineItem>) {
    let allocated: Bytes = lines.iter().map(|line| line.bytes).sum();
    let weights: Bytes =
        lines.iter().filter(|line| line.kind == MemoryKind::Parameter).map(|line| line.bytes).sum();
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

/// Adds the overheads of [`add`] to bytes by kind.
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

/// Device memory outside PyTorch's allocator: framework context, buffers of communicators, and what
/// was measured beyond all predictions.
pub(super) fn outside(job: &Job) -> Bytes {
    let overheads = job.cluster().overheads;
    overheads.framework_context
        + overheads.communicator_buffers * communicators(job.layout())
        + overheads.measured_beyond
}

/// The kinds of [`amounts`].
const KINDS: [MemoryKind; 5] = [MemoryKind::Framework; 5];

/// Context, communicator buffers, fragmentation reserve, serving overhead and what was measured
/// beyond these; those that are not there are 0.
fn amounts(job: &Job, allocated: Bytes, weights: Bytes) -> [Bytes; 5] {
    let layout = job.layout();
    let overheads = job.cluster().overheads;
    let serving = if let Run::Serving(run) = job.run() { run.overhead_percent } else { 0.0 };
    [
        overheads.framework_context,
        overheads.communicator_buffers * communicators(layout),
        allocated.percent(reservation::fragmentation_percent(job)),
        weights.percent(serving),
        overheads.measured_beyond,
    ]
}

/// Every overhead.
fn all(job: &Job, allocated: Bytes, weights: Bytes) -> [Overhead; 5] {
    let [context, buffers, reserve, serving, beyond] = amounts(job, allocated, weights);
    let framework = |label, bytes, note, source| {
        let (kind, certainty) = (MemoryKind::Framework, Certainty::Assumed);
        Overhead { kind, label, bytes, note, source, certainty }
    };
    let of_context = "Driver context and loaded kernels, before the first tensor.";
    let of_buffers =
        "Buffers of every group of GPUs that exchange something, as large as set under Reserve.";
    let of_reserve = "A share of everything above, kept free for the allocator.";
    let of_serving = "A share of the weights, as three of the five documents add it.";
    let of_beyond =
        "A log of this machine showed so much more than is estimated; you kept the difference.";
    [
        framework(FRAMEWORK_CONTEXT, context, of_context, sources::CUDA_CONTEXT),
        framework("Communicator buffers", buffers, of_buffers, sources::NCCL),
        framework("Fragmentation reserve", reserve, of_reserve, sources::RESERVE),
        framework("Inference overhead", serving, of_serving, sources::SERVING_OVERHEAD),
        framework(MEASURED_BEYOND, beyond, of_beyond, sources::OWN_LOG),
    ]
}

/// Groups of ranks that exchange something: tensor, pipeline, context, expert, sharding and replica
/// groups of more than one rank.
fn communicators(layout: &ParallelLayout) -> u64 {
    let degrees =
        [layout.t(), layout.p(), layout.cp(), layout.ep(), layout.shards(), layout.replicas()];
    degrees.into_iter().map(|degree| u64::from(degree > 1)).sum()
}
