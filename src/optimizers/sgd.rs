//! Stochastic gradient descent without momentum (`torch/optim/sgd.py`): it updates in place.

use super::{OptimizerSpec, Served, StepTemporaries};

/// No state.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "sgd",
    name: "sgd",
    label: "SGD",
    help: "No state.",
    place: 30,
    is_default: false,
    states: &[],
    counts_steps: Served::Nothing,
    temporaries: StepTemporaries::none,
    is_measured: false,
    work: None,
    conflicts: &[],
    replaces: None,
};
