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
    /// Memory of the most loaded accelerator.
    pub memory: Bytes,
}

/// A search for the leanest layouts: for each number of accelerators at which any layout is legal,
/// the one with the least memory on the most loaded accelerator, even if it does not fit; none
/// when serving.
///
/// It goes through all degrees, shardings, sequence parallelism and ways to deal out layers
/// ([`Space::layouts`]); the run keeps its micro-batch and recomputation. The search is carried on
/// step by step, and can be dropped at any time.
pub struct Climb {
    search: Search,
    capacity: Bytes,
}

impl Climb {
    /// Starts a search on these numbers of accelerators.
    pub fn new(job: &Job, counts: &[u64]) -> Self {
        Self {
            search: Search::new(job, Space::layouts(job, counts)),
            capacity: job.cluster().accelerator.memory,
        }
    }

    /// Looks at `budget` layouts or a few more; returns true once no layout is left.
    pub fn step(&mut self, budget: u64) -> bool {
        self.search.step(budget).finished
    }

    /// Returns the layouts found so far, the leanest at each number of accelerators: all of them
    /// once no layout is left to look at.
    pub fn stairs(&self) -> Vec<Stair> {
        self.search.answer().counts.iter().filter_map(|count| self.stair(count)).collect()
    }

    fn stair(&self, count: &AtCount) -> Option<Stair> {
        let fitting = count.leanest.map(|found| (found.choice, found.memory));
        let (choice, memory) = fitting
            .or_else(|| count.nearest.map(|miss| (miss.choice, self.capacity + miss.short)))?;
        Some(Stair { gpus: count.gpus, choice, memory })
    }
}
