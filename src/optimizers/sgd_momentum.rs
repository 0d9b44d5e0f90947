//! Stochastic gradient descent with momentum (`torch/optim/sgd.py`): it updates in place.

use super::{OptimizerSpec, Served, StateFormat, StateSpec, StateValues, StepTemporaries};
use crate::sources;

/// One momentum.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "sgdm",
    name: "sgd_momentum",
    label: "SGD with momentum",
    help: "One momentum: 4 bytes per parameter in fp32.",
    place: 40,
    is_default: false,
    states: &[MOMENTUM],
    counts_steps: Served::Nothing,
    temporaries: StepTemporaries::none,
    is_measured: false,
    work: None,
    conflicts: &[],
    replaces: None,
};

const MOMENTUM: StateSpec = StateSpec {
    label: "Momentum",
    note: "One running sum of gradients.",
    serves: Served::All,
    values: StateValues::EveryElement,
    format: StateFormat::Recipe,
    source: sources::PYTORCH_AUTOGRAD,
};
