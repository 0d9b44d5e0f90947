//! Rules that keep evaluations between steps from being played.

use super::{
    EVALUATION_AWAY, EVALUATION_GATHERED, EVALUATION_LOSS, EVALUATION_SPLIT, EVALUATION_TUNED,
};
use crate::config::{Job, Loss, Objective, TrainingPrecision, TrainingRun};
use crate::estimator::companions;
use crate::sharding::{Buckets, FrameworkRule};
use crate::stacks::NotWith;

/// The rule that keeps the evaluations of a training from being played; `None` where they are
/// played, or where there are none.
pub(in crate::estimator) fn refused(
    job: &Job,
    run: &TrainingRun,
) -> Option<&'static FrameworkRule> {
    run.evaluation?;
    let layout = job.layout();
    let split = layout.t() > 1 || layout.p() > 1 || layout.cp() > 1 || layout.ep() > 1;
    // Where weights are frozen, it is not known in which order stage 3 gathers them.
    let coordinates = layout.sharding.buckets == Buckets::Lasting && !run.tuning.freezes_model();
    let gathers = layout.sharding.gathers.is_some() && layout.shards() > 1 && !coordinates;
    let tuned = run.tuning.objective != Objective::NextToken || companions::there_are(&run.tuning);
    let own_loss = matches!(run.loss, Loss::OfStack | Loss::Transformers4);
    let rules: [(bool, &'static FrameworkRule); 5] = [
        (split, &EVALUATION_SPLIT),
        (gathers || run.precision == TrainingPrecision::FsdpMixed, &EVALUATION_GATHERED),
        (layout.offload.any(), &EVALUATION_AWAY),
        (tuned, &EVALUATION_TUNED),
        (!own_loss, &EVALUATION_LOSS),
    ];
    let by_stack = run.stack.forbidden(NotWith::Evaluating);
    by_stack.or_else(|| rules.into_iter().find_map(|(when, rule)| when.then_some(rule)))
}
