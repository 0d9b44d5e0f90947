//! FLOPs and bytes of an optimizer's step for its states, averaged over the model's parameters.

use super::machine::Machine;
use crate::config::{Job, TrainingRun};
use crate::ops::{self, Role};
use crate::optimizers::{Served, StepWork, UpdatedParameter};
use crate::units::{DType, to_f64};

/// The cost of the optimizer's own way of updating, per parameter of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Updating {
    /// Bytes of states, each read and written.
    pub states: f64,
    /// Bytes that are read and written beside these.
    pub bytes: f64,
    /// Seconds of products: bf16 at the accelerator's rate for matrix products.
    pub products: f64,
}

impl Updating {
    pub fn of(job: &Job, run: &TrainingRun) -> Self {
        let (spec, recipe) = (run.optimizer.spec(), run.recipe().optimizer_state);
        let parameters = if spec.tells_parameters_apart() || spec.work.is_some() {
            updated(job)
        } else {
            Vec::new()
        };
        let elements =
            |parameter: &UpdatedParameter| to_f64(parameter.elements) * to_f64(parameter.times);
        let all: f64 = parameters.iter().map(elements).sum::<f64>().max(1.0);
        let share = |served: Served| match served {
            Served::Nothing => 0.0,
            Served::All => 1.0,
            Served::Those(_) => {
                parameters.iter().filter(|one| served.includes(one)).map(elements).sum::<f64>()
                    / all
            }
        };
        let states = spec.state_bytes_per_parameter(recipe, share);
        let Some(work) = spec.work else { return Self { states, ..Self::default() } };
        let each = |parameter: &UpdatedParameter| {
            let (StepWork { flops, bytes }, times) =
                ((work.of)(parameter), to_f64(parameter.times));
            (flops * times, bytes * times)
        };
        let (flops, bytes) =
            parameters.iter().map(each).fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let rate =
            Machine::rates(job.cluster(), DType::Bf16).map_or(f64::INFINITY, |(rate, _)| rate);
        Self { states, bytes: bytes / all, products: flops / all / rate }
    }
}

/// Every parameter of the model as an optimizer sees it, whole.
fn updated(job: &Job) -> Vec<UpdatedParameter> {
    let list = ops::declared(job.model());
    let blocks = list.kinds.iter().map(|kind| (&kind.ops[..], kind.layers, true));
    let parts =
        [(&list.embedding[..], 1, false), (&list.head[..], 1, false)].into_iter().chain(blocks);
    let of_part = |(ops, times, in_block)| {
        ops::tensors(ops, Role::Parameter)
            .map(move |(_, tensor)| tensor.shape.updated(times, in_block))
    };
    parts.flat_map(of_part).collect()
}
