//! Rows of kind `cuda` say more than those of a pretended GPU: the card they were measured on, its
//! driver, and the time of a step.

use headroom::config::{Cluster, Job};
use headroom::estimator::time::step;

use super::super::row::{Comparison, Fields};
use super::super::speed::{cluster, times};

/// The card of the rows, as the table of accelerators calls it.
const CARD: &str = "h100-80";

/// True if a real GPU was measured.
pub fn is_real(row: Fields<'_>) -> bool {
    row.text("/kind") == Ok("cuda")
}

/// The group of rows of that card.
pub fn device(row: Fields<'_>) -> Option<String> {
    is_real(row).then(|| "real H100".to_owned())
}

/// Bytes that the allocator can have: what the driver hands out, less what stood outside the
/// allocator when the row ended.
pub fn room(row: Fields<'_>) -> Result<u64, String> {
    Ok(row.count("/driver/total")?.saturating_sub(row.count("/driver/outside")?))
}

/// Our time of a step beside the median of those measured; nothing where the row states none.
///
/// The time is that of the job on the card at its published rates. Nothing is set to this card's
/// clock.
pub fn step_time(row: Fields<'_>, job: &Job) -> Result<Option<Comparison>, String> {
    if row.is_absent("/measured/step_ms") {
        return Ok(None);
    }
    let mut cluster = Cluster { overheads: job.cluster().overheads, ..cluster(CARD)? };
    // The script that measured leaves TF32 off, as PyTorch does.
    cluster.accelerator.peak.tf32 = None;
    let timed = Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster)
        .map_err(|error| error.to_string())?;
    let ours = step(&timed).ok_or("the accelerator's rates are not known")?;
    Ok(Some(times(ours.seconds.0, row.number("/measured/step_ms")? / 1e3)))
}
