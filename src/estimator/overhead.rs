//! Memory outside the model, as visible lines.

use super::ledger::{Certainty, Ledger, LineItem, MemoryKind};
use crate::config::{Job, Run};
use crate::sources::{self, Source};
use crate::units::Bytes;

/// Label of the line that no layout makes smaller.
pub const FRAMEWORK_CONTEXT: &str = "Framework context";

/// Adds framework context, fragmentation reserve and serving overhead to a ledger.
pub(super) fn append(job: &Job, ledger: &mut Ledger) {
    let overheads = job.cluster().overheads;
    let allocated = ledger.total();
    let mut lines = vec![(
        FRAMEWORK_CONTEXT,
        overheads.framework_context,
        "Driver context and loaded kernels, before the first tensor.",
        sources::CUDA_CONTEXT,
    )];
    lines.push((
        "Fragmentation reserve",
        allocated.percent(overheads.fragmentation_percent),
        "A share of everything above, kept free for the allocator.",
        sources::RESERVE,
    ));
    if let Run::Serving(run) = job.run() {
        let weights = ledger.of(MemoryKind::Parameter);
        let note = "A share of the weights, as three of the five documents add it.";
        lines.push(("Inference overhead", weights.percent(run.overhead_percent), note, sources::SERVING_OVERHEAD));
    }
    ledger.lines.extend(lines.into_iter().filter(|line| line.1 > Bytes::ZERO).map(assumed));
    ledger.lines.sort_by_key(|line| line.kind);
}

fn assumed((label, bytes, note, source): (&'static str, Bytes, &'static str, Source)) -> LineItem {
    LineItem { kind: MemoryKind::Framework, label, bytes, tensors: Vec::new(), note, source, certainty: Certainty::Assumed }
}
