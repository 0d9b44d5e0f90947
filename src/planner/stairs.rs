//! The best legal layout at each number of accelerators.

use super::search::{AtCount, Search, Space};
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
/// with its micro-batch and recomputation stays as it is. Carried on step by step, and left off by dropping it.
pub struct Climb {
    search: Search,
    capacity: Bytes,
}

impl Climb {
    /// Gets ready for these numbers of accelerators.
    pub fn new(job: &Job, counts: &[u64]) -> Self {
        Self { search: Search::new(job, Space::layouts(job, counts)), capacity: job.cluster().accelerator.memory }
    }

    /// Looks at so many layouts or a few more; whether nothing is left.
    pub fn step(&mut self, budget: u64) -> bool {
        self.search.step(budget).finished
    }

    /// What is known so far: all of it once nothing is left.
    pub fn stairs(&self) -> Vec<Stair> {
        self.search.answer().counts.iter().filter_map(|count| self.stair(count)).collect()
    }

    fn stair(&self, count: &AtCount) -> Option<Stair> {
        let fitting = count.leanest.map(|found| (found.choice, found.memory));
        let (choice, memory) = fitting.or_else(|| count.nearest.map(|miss| (miss.choice, self.capacity + miss.short)))?;
        Some(Stair { gpus: count.gpus, choice, memory })
    }
}
