//! Memory of many layouts of one training job.

use super::{megatron, memory_by_kind, overhead};
use crate::config::{Choice, Job, Kernels};
use crate::units::Bytes;

/// [`memory_by_kind`] of one job as a search chooses it, again and again: what layouts have in common is worked out once.
///
/// The bytes are the same, which a property test holds.
pub struct Layouts {
    job: Job,
    megatron: megatron::Many,
    slow: u64,
}

impl Layouts {
    /// Gets ready for questions about a job.
    pub fn of(job: &Job) -> Self {
        Self { job: job.clone(), megatron: megatron::Many::default(), slow: 0 }
    }

    /// The job as it was chosen last.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Takes over a choice; see [`Self::job`].
    pub const fn choose(&mut self, choice: &Choice) {
        self.job.choose(choice);
    }

    /// Memory by kind at the peak on the most loaded rank of the choice taken over last, in the order of
    /// [`MemoryKind::ALL`](super::MemoryKind::ALL).
    pub fn memory(&mut self) -> [Bytes; 7] {
        let job = &self.job;
        match job.training() {
            Some(run) if run.kernels == Kernels::Megatron => overhead::on_top(job, self.megatron.memory(job, run)),
            _ => {
                self.slow += 1;
                memory_by_kind(job)
            }
        }
    }

    /// How many answers were estimates of their own, for want of a quick way.
    pub const fn slow(&self) -> u64 {
        self.slow
    }

    /// How many different operation lists (by tensor, context, expert degree and so on) were worked out.
    pub const fn frames(&self) -> usize {
        self.megatron.frames()
    }
}
