//! AdamW as PyTorch has it (`torch/optim/adamw.py`, PyTorch 2.15).

use super::{
    OptimizerImplementation, OptimizerSpec, Piece, Served, StateFormat, StateSpec, StateValues,
    StepTemporaries, UpdatedParameter,
};
use crate::sources;

/// Two moments, and the number of steps of every tensor.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adamw",
    name: "adamw",
    label: "AdamW",
    help: "Two moments: 8 bytes per parameter in fp32.",
    place: 10,
    is_default: true,
    states: &[FIRST_MOMENT, SECOND_MOMENT],
    counts_steps: Served::All,
    temporaries,
    is_measured: true,
    work: None,
    conflicts: &[],
    replaces: None,
};

/// Running mean of the gradient.
pub(super) const FIRST_MOMENT: StateSpec = StateSpec {
    label: "First moment",
    note: "Running mean of the gradient.",
    serves: Served::All,
    values: StateValues::EveryElement,
    format: StateFormat::Recipe,
    source: sources::ZERO_2020,
};

/// Running mean of the squared gradient.
pub(super) const SECOND_MOMENT: StateSpec = StateSpec {
    label: "Second moment",
    note: "Running mean of the squared gradient.",
    ..FIRST_MOMENT
};

/// The step takes the root of each second moment: one parameter after the other in a loop, all at
/// once with `foreach`, inside the kernel when fused.
pub(super) fn temporaries(
    implementation: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    match implementation {
        OptimizerImplementation::ForLoop => one_by_one(parameters, step),
        OptimizerImplementation::Foreach => {
            // Parameters of one format after the other; the variable keeps the roots of the first
            // until those of the next are made.
            let mut roots: Option<Piece> = None;
            for format in formats(parameters) {
                let alike = parameters.iter().filter(|one| one.state_format() == format);
                let next = step.take_each("roots of all second moments", alike, format);
                step.rebind(&mut roots, Some(next));
            }
            step.rebind(&mut roots, None);
        }
        OptimizerImplementation::Fused => {}
    }
}

/// The formats of parameters' states, that of all weights first.
fn formats(parameters: &[UpdatedParameter]) -> impl Iterator<Item = StateFormat> {
    let own = parameters.iter().find_map(|one| one.own_format).map(StateFormat::Always);
    [StateFormat::Recipe].into_iter().chain(own)
}

/// `denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)` of each parameter; the variable
/// keeps the one before until the next is made.
fn one_by_one(parameters: &[UpdatedParameter], step: &mut StepTemporaries) {
    let mut denominator: Option<Piece> = None;
    for parameter in parameters {
        let root =
            step.take("root of the second moment", parameter.elements, parameter.state_format());
        let divided = step.take("denominator", parameter.elements, parameter.state_format());
        step.free(root);
        step.rebind(&mut denominator, Some(divided));
    }
    step.rebind(&mut denominator, None);
}
