//! Memory and time of many layouts of one training job.

use std::num::NonZeroU64;

use super::ledger::first_over;
use super::{
    Blocker, MemoryKind, Rules, blockers, megatron, megatron_run, memory_by_kind, overhead, time,
};
use crate::config::{Choice, DataSharding, Job};
use crate::units::Bytes;

/// Memory and time of one job as a search chooses it, again and again: what layouts have in common
/// is worked out once.
///
/// The bytes are those of [`memory_by_kind`] and the seconds those of [`time::step`], which
/// property tests hold.
pub struct Layouts {
    job: Job,
    megatron: megatron::Many,
    paces: time::Paces,
}

impl Layouts {
    /// Makes ready for questions about many layouts of one job.
    pub fn of(job: &Job) -> Self {
        Self {
            job: job.clone(),
            megatron: megatron::Many::default(),
            paces: time::Paces::default(),
        }
    }

    /// Returns the job with the choice that was taken over last.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Takes over a choice of degrees, micro-batch, recomputation and sharding; the questions that
    /// follow are about it. See [`Self::job`].
    pub const fn choose(&mut self, choice: &Choice) {
        self.job.choose(choice);
    }

    /// Takes over a micro-batch alone, sequences.
    pub const fn choose_micro_batch(&mut self, sequences: NonZeroU64) {
        self.job.choose_micro_batch(sequences);
    }

    /// Takes over only the sharding of model states over data-parallel ranks.
    pub const fn choose_sharding(&mut self, sharding: DataSharding) {
        self.job.choose_sharding(sharding);
    }

    /// Returns the first of some rules that the choice taken over last breaks; `None` where it
    /// breaks none of them.
    pub fn first_rule(&self, rules: Rules) -> Option<Blocker> {
        blockers::first(&self.job, rules)
    }

    /// Returns memory by kind at the peak on the most loaded rank of the choice taken over last,
    /// bytes, in the order of [`MemoryKind::ALL`]; and the first kind with which any rank takes
    /// more than there is, `None` where all find room.
    pub fn memory(&mut self) -> ([Bytes; 7], Option<MemoryKind>) {
        let job = &self.job;
        let (by_kind, over) = match job.training() {
            Some(run) if run.stack.has_own_schedule() => {
                let (by_kind, over) = self.megatron.memory(job, run);
                (overhead::on_top(job, by_kind), over)
            }
            _ => {
                let by_kind = memory_by_kind(job);
                // Stages other than the most loaded are not looked at.
                (by_kind, first_over(&by_kind, job.cluster().accelerator.memory))
            }
        };
        // Memory outside the model is compared last, so it is named only where the model's own
        // memory fits.
        let is_over = || by_kind.into_iter().sum::<Bytes>() > job.cluster().accelerator.memory;
        (by_kind, over.or_else(|| is_over().then_some(MemoryKind::Framework)))
    }

    /// Returns the first kind with which weights, gradients and optimizer states alone are too
    /// much, and by how many bytes at least.
    ///
    /// The answer holds for every micro-batch. `None` where only [`Self::memory`] tells.
    pub fn too_many_states(&mut self) -> Option<(MemoryKind, Bytes)> {
        let run = megatron_run(&self.job)?;
        self.megatron.too_many_states(&self.job, run)
    }

    /// Returns the fewest bytes that the layout passed to [`Self::memory`] last takes with its own
    /// or any larger micro-batch; 0 where no bound is known.
    pub fn floor(&self) -> Bytes {
        if megatron_run(&self.job).is_some() {
            self.megatron.floor(self.job.layout().sharding)
        } else {
            Bytes::ZERO
        }
    }

    /// Returns the seconds of one optimizer step of the choice taken over last; `None` when
    /// serving, and where the accelerator's peak or memory bandwidth is unknown.
    pub fn seconds(&mut self) -> Option<f64> {
        self.paces.seconds(&self.job)
    }

    /// Returns a lower bound on [`Self::seconds`], seconds, for every sharding; 0 where no bound is
    /// known.
    pub fn at_least(&mut self) -> f64 {
        self.paces.at_least(&self.job)
    }

    /// Returns a lower bound on [`Self::seconds`], seconds, for every micro-batch into which a
    /// rank's sequences of a step divide.
    pub fn at_least_with_any(&mut self) -> f64 {
        self.paces.at_least_with_any(&self.job)
    }

    /// Returns how many different operation lists (by tensor, context, expert degree and so on)
    /// were worked out.
    pub const fn frames(&self) -> usize {
        self.megatron.frames()
    }
}
