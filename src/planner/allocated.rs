//! Changes with which PyTorch's allocator finds room for a training whose tensors alone would fit.

use super::count::larger;
use super::fixes::{Candidate, Change, Fix, MOST, changes};
use crate::config::Job;
use crate::estimator::{DeviceMemory, device_memory, estimate};
use crate::units::whole;

/// The most larger counts of accelerators that are tried.
const MOST_COUNTS: usize = 4;

/// Returns up to three single changes with which a training runs although the allocator finds no
/// room for it now, in the order of [`super::fixes`]: cheapest in quality and time first.
///
/// For each of them the estimate fits and a replay runs to its end; [`Fix::before`] and
/// [`Fix::after`] are bytes in use, as the driver counts. Empty where the training runs already,
/// and where its order of allocations is not known.
///
/// ```
/// # use headroom::estimator::{Verdict, device_memory, estimate};
/// # use headroom::planner::allocator_fixes;
/// # use headroom::scenario::codec::decode;
/// let job = decode("v1&m=llama3-8b&n=8&mem=25.5").scenario.resolve();
/// let job = job.map_err(|problems| problems.len())?;
/// let fixes = allocator_fixes(&job);
/// assert!(!fixes.is_empty());
/// assert!(fixes.iter().all(|fix| fix.fits && fix.after <= estimate(&job).capacity));
/// # Ok::<(), usize>(())
/// ```
pub fn allocator_fixes(job: &Job) -> Vec<Fix> {
    let Ok(before) = device_memory(job) else { return Vec::new() };
    if before.fits {
        return Vec::new();
    }
    let more = || {
        larger(job).into_iter().take(MOST_COUNTS).map(|layout| of_count(job.with_layout(layout)))
    };
    let found = |candidate| found(candidate, &before);
    let single = changes(job, None).into_iter().filter_map(found);
    single.chain(more().filter_map(found).take(1)).take(MOST).collect()
}

/// A change to more accelerators.
fn of_count(changed: Job) -> Candidate {
    let gpus = changed.layout().world_size();
    (Change::Gpus(gpus), format!("Use {} GPUs", whole(gpus)), changed)
}

/// The change as a fix, if estimate and replay say that it runs with fewer bytes in use.
fn found((change, title, changed): Candidate, before: &DeviceMemory) -> Option<Fix> {
    let after = estimate(&changed).runs().then(|| device_memory(&changed).ok())??;
    (after.fits && after.in_use < before.in_use).then(|| Fix {
        change,
        title,
        before: before.in_use,
        after: after.in_use,
        fits: true,
        gpus_after: changed.layout().world_size(),
    })
}
