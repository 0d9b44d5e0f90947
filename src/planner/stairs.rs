//! The best legal layout at each number of accelerators.

use super::search::{Search, Space};
use crate::config::{Choice, Job};
use crate::units::Bytes;

/// The layout with the least memory at one number of accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stair {
    /// Accelerators.
    pub gpus: u64,
    /// The layout.
    pub choice: Choice,
    /// Memory of the most loaded one.
    pub memory: Bytes,
}

/// For each number of accelerators at which any layout is legal, the one with the least memory on the most loaded of them, whether
/// it fits or not; none when serving.
///
/// Degrees, sharding, sequence parallelism and how layers are dealt out are searched, all of them ([`Space::layouts`]); the run
/// with its micro-batch and recomputation stays as it is.
pub fn stairs(job: &Job, counts: &[u64]) -> Vec<Stair> {
    let capacity = job.cluster().accelerator.memory;
    let answer = Search::new(job, Space::layouts(job, counts)).finish();
    let stair = |count: &super::search::AtCount| {
        let fitting = count.leanest.map(|found| (found.choice, found.memory));
        let (choice, memory) = fitting.or_else(|| count.nearest.map(|miss| (miss.choice, capacity + miss.short)))?;
        Some(Stair { gpus: count.gpus, choice, memory })
    };
    answer.counts.iter().filter_map(stair).collect()
}
