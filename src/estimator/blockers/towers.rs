//! Trainings in which the memory of a vision tower is modelled.

use crate::config::{Job, TrainingRun};
use crate::sharding::{GatheredInto, Gathers};

/// True for a training in which the memory of a vision tower is modelled: its weights lie there whole, or each is shared out by itself.
pub(super) fn are_held(job: &Job, run: &TrainingRun) -> bool {
    let layout = job.layout();
    let whole = layout.t() == 1 && layout.p() == 1 && layout.cp() == 1 && layout.ep() == 1;
    let into_buffers = |gathers: &Gathers| gathers.into == GatheredInto::BufferAndTensors;
    let by_itself = layout.shards() == 1 || layout.sharding.gathers.as_ref().is_some_and(into_buffers);
    whole && by_itself && run.stack.is_played() && !run.stack.modules().is_own_model
}
