//! Trainings that encoders are modelled in.

use crate::config::{Job, Loss, Recompute, TrainingRun};

/// True if nothing is recomputed, or the library's modules can run again.
pub(super) fn runs_again(job: &Job, run: &TrainingRun) -> bool {
    run.recompute == Recompute::None || job.model().family.modules().encoder.runs_again
}

/// True for a training that an encoder is modelled in.
pub(super) fn runs(job: &Job, run: &TrainingRun) -> bool {
    let layout = job.layout();
    let whole = layout.t() == 1 && layout.p() == 1 && layout.cp() == 1;
    let own_loss = run.loss == Loss::OfStack;
    let plain = run.tuning.is_full() && run.packed_text().is_none() && run.evaluation.is_none() && !run.compile;
    whole && own_loss && plain && run.stack.is_played() && !run.stack.modules().is_own_model
}

/// True for a training that an encoder beside a decoder is modelled in.
pub(super) fn run_beside(job: &Job, run: &TrainingRun) -> bool {
    let sharding = job.layout().sharding;
    let shares = sharding.shards_optimizer() || sharding.shards_gradients() || sharding.shards_parameters();
    let standard = job.layout().ep() == 1 && run.tuning.objective.sequences() == 1;
    runs(job, run) && standard && !shares
}
