//! Memory outside the model, as visible lines.

use super::ledger::{Certainty, LineItem, MemoryKind};
use crate::config::{Job, Run};
use crate::sources::{self, Source};
use crate::units::Bytes;

/// Label of the line that no layout makes smaller.
pub const FRAMEWORK_CONTEXT: &str = "Framework context";

/// Adds framework context, fragmentation reserve and serving overhead to the lines so far.
pub(super) fn add(job: &Job, lines: &mut Vec<LineItem>) {
    let allocated: Bytes = lines.iter().map(|line| line.bytes).sum();
    let weights: Bytes = lines.iter().filter(|line| line.kind == MemoryKind::Parameter).map(|line| line.bytes).sum();
    lines.extend(all(job, allocated, weights).into_iter().filter(|line| line.1 > Bytes::ZERO).map(assumed));
}

/// The same overheads on top of sums by kind.
pub(super) fn on_top(job: &Job, mut by_kind: [Bytes; 7]) -> [Bytes; 7] {
    let allocated = by_kind.into_iter().sum();
    let weights = by_kind.get(MemoryKind::Parameter.index()).copied().unwrap_or(Bytes::ZERO);
    if let Some(framework) = by_kind.get_mut(MemoryKind::Framework.index()) {
        *framework += all(job, allocated, weights).into_iter().map(|line| line.1).sum();
    }
    by_kind
}

/// Label, amount, note and source of each overhead.
fn all(job: &Job, allocated: Bytes, weights: Bytes) -> [(&'static str, Bytes, &'static str, Source); 3] {
    let overheads = job.cluster().overheads;
    let serving = if let Run::Serving(run) = job.run() { run.overhead_percent } else { 0.0 };
    let context = "Driver context and loaded kernels, before the first tensor.";
    let reserve = "A share of everything above, kept free for the allocator.";
    let overhead = "A share of the weights, as three of the five documents add it.";
    [
        (FRAMEWORK_CONTEXT, overheads.framework_context, context, sources::CUDA_CONTEXT),
        ("Fragmentation reserve", allocated.percent(overheads.fragmentation_percent), reserve, sources::RESERVE),
        ("Inference overhead", weights.percent(serving), overhead, sources::SERVING_OVERHEAD),
    ]
}

fn assumed((label, bytes, note, source): (&'static str, Bytes, &'static str, Source)) -> LineItem {
    LineItem { kind: MemoryKind::Framework, label, bytes, tensors: Vec::new(), note, source, certainty: Certainty::Assumed }
}
