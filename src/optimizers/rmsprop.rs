//! `RMSprop` as PyTorch has it (`torch/optim/rmsprop.py`, PyTorch 2.15), without momentum.

use super::{
    OptimizerImplementation, OptimizerSpec, Piece, Served, StateSpec, StepTemporaries,
    UpdatedParameter, adamw,
};
use crate::sources;

/// One mean of squares. The number of steps stands in the host's memory.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "rmsprop",
    name: "rmsprop",
    label: "RMSprop",
    help: "A running mean of the squared gradient. It has no fused step.",
    place: 41,
    is_default: false,
    states: &[MEAN_OF_SQUARES],
    counts_steps: Served::Nothing,
    temporaries,
    is_measured: false,
    ..adamw::OPTIMIZER
};

const MEAN_OF_SQUARES: StateSpec = StateSpec {
    label: "Mean of squares",
    source: sources::PYTORCH_AUTOGRAD,
    ..adamw::SECOND_MOMENT
};

/// The step takes the root of each state: one parameter after the other in a loop, and all at once
/// otherwise.
fn temporaries(
    implementation: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    match implementation {
        OptimizerImplementation::ForLoop => roots_in_a_loop("root of the mean", parameters, step),
        OptimizerImplementation::Foreach | OptimizerImplementation::Fused => {
            adamw::temporaries(OptimizerImplementation::Foreach, parameters, step);
        }
    }
}

/// The root of one state after the other: the loop's variable keeps each until the next is made.
pub(super) fn roots_in_a_loop(
    name: &'static str,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    let mut held: Option<Piece> = None;
    for one in parameters {
        let root = step.take(name, one.elements, one.state_format());
        step.rebind(&mut held, Some(root));
    }
    step.rebind(&mut held, None);
}
