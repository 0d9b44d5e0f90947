//! The optimizer's states and the temporaries of its step (`torch/optim`, PyTorch 2.15).

use super::Plan;
use crate::config::{Optimizer, OptimizerImplementation};
use crate::ops::tape::{Kind, Tape, Var, When};

/// Takes the memory of the states.
pub(super) fn states(tape: &Tape, plan: &Plan) {
    tape.begin(When::Before, 0, Kind::OptimizerState);
    let moments = match plan.optimizer {
        Optimizer::AdamW => 2,
        Optimizer::SgdMomentum => 1,
        _ => 0,
    };
    for param in tape.trained() {
        tape.states_of(param, moments, plan.state);
    }
}

/// Plays the step.
///
/// `AdamW` takes the root of each second moment: one parameter after the other in a loop, which lets go of the root before only
/// when the next is made; all at once with `foreach`; inside the kernel when fused. SGD updates in place.
pub(super) fn step(tape: &Tape, plan: &Plan) {
    tape.begin(When::Step, 0, Kind::Temporary);
    tape.at("Optimizer step", crate::sources::PYTORCH_AUTOGRAD);
    if plan.optimizer != Optimizer::AdamW {
        return;
    }
    let roots = |param| tape.like(param, "root of the second moment", plan.state);
    match plan.implementation {
        OptimizerImplementation::ForLoop => {
            let mut before: Option<Var<'_>> = None;
            for param in tape.trained() {
                let root = roots(param);
                let denominator = tape.like(param, "denominator", plan.state);
                drop(root);
                before = Some(denominator);
            }
            drop(before);
        }
        OptimizerImplementation::Foreach => drop(tape.trained().into_iter().map(roots).collect::<Vec<_>>()),
        OptimizerImplementation::Fused => {}
    }
}
