//! Adagrad as PyTorch has it (`torch/optim/adagrad.py`, PyTorch 2.15).

use super::{
    OptimizerImplementation, OptimizerSpec, Served, StateFormat, StateSpec, StepTemporaries,
    UpdatedParameter, adamw, rmsprop,
};
use crate::sources;

/// One sum of squares, which is there before the first step. The number of steps stands in the
/// host's memory.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adagrad",
    name: "adagrad",
    label: "Adagrad",
    help: "A sum of the squared gradients. It has no fused step on GPUs.",
    place: 42,
    is_default: false,
    states: &[SUM_OF_SQUARES],
    counts_steps: Served::Nothing,
    temporaries,
    is_measured: false,
    ..adamw::OPTIMIZER
};

const SUM_OF_SQUARES: StateSpec = StateSpec {
    label: "Sum of squares",
    note: "Sum of all squared gradients.",
    source: sources::PYTORCH_AUTOGRAD,
    ..adamw::SECOND_MOMENT
};

/// The step takes the root of each state, and all at once the scaled gradients beside them.
fn temporaries(
    implementation: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    match implementation {
        OptimizerImplementation::ForLoop => {
            rmsprop::roots_in_a_loop("root of the sum", parameters, step);
        }
        OptimizerImplementation::Foreach | OptimizerImplementation::Fused => {
            let all = |step: &mut StepTemporaries, name| {
                step.take_each(name, parameters.iter(), StateFormat::Recipe)
            };
            let roots = all(step, "roots of all sums");
            let scaled = all(step, "gradients, scaled");
            step.free(roots);
            step.free(scaled);
        }
    }
}
