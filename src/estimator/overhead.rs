//! Memory outside the model, as visible lines.

use super::ledger::{Certainty, LineItem, MemoryKind};
use crate::config::{Job, Run};
use crate::sources::{self, Source};
use crate::units::Bytes;

/// Label of the line that no layout makes smaller.
pub const FRAMEWORK_CONTEXT: &str = "Framework context";

/// Adds framework context, fragmentation reserve and serving overhead to the lines so far.
pub(super) fn add(job: &Job, lines: &mut Vec<LineItem>) {
    let overheads = job.cluster().overheads;
    let allocated: Bytes = lines.iter().map(|line| line.bytes).sum();
    let weights: Bytes = lines.iter().filter(|line| line.kind == MemoryKind::Parameter).map(|line| line.bytes).sum();
    let serving = if let Run::Serving(run) = job.run() { run.overhead_percent } else { 0.0 };
    let context = "Driver context and loaded kernels, before the first tensor.";
    let reserve = "A share of everything above, kept free for the allocator.";
    let overhead = "A share of the weights, as three of the five documents add it.";
    let all = [
        (FRAMEWORK_CONTEXT, overheads.framework_context, context, sources::CUDA_CONTEXT),
        ("Fragmentation reserve", allocated.percent(overheads.fragmentation_percent), reserve, sources::RESERVE),
        ("Inference overhead", weights.percent(serving), overhead, sources::SERVING_OVERHEAD),
    ];
    lines.extend(all.into_iter().filter(|line| line.1 > Bytes::ZERO).map(assumed));
}

fn assumed((label, bytes, note, source): (&'static str, Bytes, &'static str, Source)) -> LineItem {
    LineItem { kind: MemoryKind::Framework, label, bytes, tensors: Vec::new(), note, source, certainty: Certainty::Assumed }
}
