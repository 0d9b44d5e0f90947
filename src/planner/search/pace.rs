//! How long a step of a layout takes, as far as the search has to know.

use crate::config::{Job, Recompute};
use crate::estimator::{Compute, estimate};
use crate::units::to_f64;

/// Tells the seconds of one optimizer step.
pub trait Pace {
    /// Seconds of a step of the job as it stands; `None` where they cannot be known.
    ///
    /// Asked of every layout that fits. The search varies the last axis quickest, so that what depends on the other choices alone may
    /// be kept from the call before.
    fn seconds(&mut self, job: &Job) -> Option<f64>;
}

impl<F: FnMut(&Job) -> Option<f64>> Pace for F {
    fn seconds(&mut self, job: &Job) -> Option<f64> {
        self(job)
    }
}

/// FLOPs, recomputed ones included, at the run's stated utilisation, stretched by the pipeline's bubble `(p − 1) / (v · m)`.
///
/// Messages between ranks take no time here, so that layouts of one count differ in bubble and recomputation alone.
#[derive(Clone, Debug)]
pub struct Roofline {
    /// Seconds of a step on one accelerator, by recomputation.
    alone: [Option<f64>; 3],
}

impl Roofline {
    /// Of a training job; every answer is `None` when serving, or where the accelerator's peak is not known.
    pub fn of(job: &Job) -> Self {
        let alone = [Recompute::None, Recompute::Selective, Recompute::Full].map(|recompute| {
            let choice = crate::config::Choice { recompute, ..super::space::plain() };
            let Compute { step_seconds, hfu_over_mfu, .. } = estimate(&job.with_choice(&choice)).compute?;
            step_seconds.map(|seconds| seconds.0 * hfu_over_mfu)
        });
        Self { alone }
    }
}

impl Pace for Roofline {
    fn seconds(&mut self, job: &Job) -> Option<f64> {
        let [none, selective, full] = self.alone;
        let alone = match job.training()?.recompute {
            Recompute::None => none,
            Recompute::Selective => selective,
            Recompute::Full => full,
        };
        let layout = job.layout();
        let passes = to_f64(job.gradient_accumulation_steps().saturating_mul(layout.chunks()));
        let bubble = to_f64(layout.p() - 1) / passes;
        alone.map(|seconds| seconds / to_f64(layout.world_size()) * (1.0 + bubble))
    }
}
