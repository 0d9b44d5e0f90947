//! The optimizer's states and the temporaries of its step (`torch/optim`, PyTorch 2.15).

use super::plan::{Plan, Share, Shares};
use crate::config::{Optimizer, OptimizerImplementation};
use crate::ops::tape::{Kind, Parameter, Tape, Var, When};
use crate::sources::{self, Source};
use crate::units::DType;

/// Elements per block of the 8-bit optimizer's scales (bitsandbytes).
const QUANTISATION_BLOCK: u64 = 256;

/// Elements from which on a paged optimizer keeps a parameter's states in pages (bitsandbytes, `optim/optimizer.py`).
const PAGED_FROM: u64 = 100_000;

/// One kind of state: its name, elements, format and source.
type StateOf = (&'static str, u64, DType, Source);

/// The states of the optimizer, each in one piece, since none changes during the step.
pub(super) fn amounts(tape: &Tape, plan: &Plan<'_>) -> Vec<StateOf> {
    if plan.away.optimizer {
        return Vec::new();
    }
    let Sizes { elements, factors, .. } = sizes(tape, plan);
    let state = plan.recipe.optimizer_state;
    let mut all: Vec<StateOf> = Vec::with_capacity(4);
    if let Some(master) = plan.recipe.master {
        all.push(("Master weights", elements, master, sources::ZERO_2020));
    }
    match plan.optimizer {
        Optimizer::AdamW => {
            all.push(("First moment", elements, state, sources::ZERO_2020));
            all.push(("Second moment", elements, state, sources::ZERO_2020));
        }
        Optimizer::AdamW8bit => {
            all.push(("First moment, 8 bit", elements, DType::Int8, sources::ADAM_8BIT_2022));
            all.push(("Second moment, 8 bit", elements, DType::Int8, sources::ADAM_8BIT_2022));
            let scales = elements.div_ceil(QUANTISATION_BLOCK).saturating_mul(2);
            all.push(("Scales of both moments", scales, DType::Fp32, sources::ADAM_8BIT_2022));
        }
        Optimizer::Sgd => {}
        Optimizer::SgdMomentum => all.push(("Momentum", elements, state, sources::PYTORCH_AUTOGRAD)),
        Optimizer::Adafactor => all.push(("Row and column factors", factors, DType::Fp32, sources::ADAFACTOR_2018)),
    }
    all
}

/// Takes the memory of the states.
pub(super) fn states<'t>(tape: &'t Tape, plan: &Plan<'_>, shares: &mut Shares) -> Vec<Var<'t>> {
    tape.begin(When::Before, 0, Kind::OptimizerState);
    let mut held: Vec<Var<'_>> = Vec::with_capacity(5);
    for (number, (name, elements, dtype, source)) in amounts(tape, plan).into_iter().enumerate() {
        tape.at(name, source);
        let states = tape.lump("one value per parameter", (Kind::OptimizerState, elements, dtype));
        shares.push((states.parts().0, Share::States(number)));
        held.push(states);
    }
    if plan.optimizer == Optimizer::AdamW && !plan.away.optimizer {
        tape.at("Step counters", sources::PYTORCH_AUTOGRAD);
        held.push(tape.lump("one number per parameter tensor", (Kind::Buffer, sizes(tape, plan).tensors, DType::Fp32)));
    }
    held
}

/// What the states' sizes follow from.
struct Sizes {
    /// Elements whose states this rank keeps.
    elements: u64,
    /// Parameter tensors.
    tensors: u64,
    /// Elements of factored states.
    factors: u64,
}

/// What this rank keeps states of.
fn sizes(tape: &Tape, plan: &Plan<'_>) -> Sizes {
    let state = tape.state();
    let (mut elements, mut tensors, mut factors) = (0_u64, 0_u64, 0_u64);
    let paged = |found: &Parameter| plan.with.tuning.paged_optimizer && found.kept >= PAGED_FROM;
    for parameter in state.parameters.iter().filter(|parameter| !parameter.idle && !paged(parameter)) {
        let times = plan.times(parameter.layer);
        elements = elements.saturating_add(parameter.kept.saturating_mul(times));
        tensors = tensors.saturating_add(times);
        if plan.optimizer == Optimizer::Adafactor {
            factors = factors.saturating_add(state.factors(parameter).saturating_mul(times));
        }
    }
    // Stages 1 and 2 deal out all parameters as one long vector; shards of stage 3 and FSDP are counted one by one above.
    let shared = plan.sharding.shards_optimizer() && plan.shards().is_none();
    let ranks = if shared { plan.ranks.max(1) } else { 1 };
    Sizes { elements: elements.div_ceil(ranks), tensors, factors: factors.div_ceil(ranks) }
}

/// Elements of the temporaries of `AdamW`'s step: of every parameter tensor, or of all in one.
pub(super) fn roots(tape: &Tape, plan: &Plan<'_>) -> Vec<u64> {
    let shared = plan.sharding.shards_optimizer() && plan.shards().is_none();
    let ranks = if shared { plan.ranks.max(1) } else { 1 };
    let state = tape.state();
    let active = state.parameters.iter().filter(|found| !found.idle);
    let sizes = active.map(|found| (found.kept.div_ceil(ranks), plan.times(found.layer)));
    match (plan.optimizer, plan.implementation) {
        _ if plan.away.optimizer => Vec::new(),
        (Optimizer::AdamW, OptimizerImplementation::ForLoop) => sizes.map(|(elements, _)| elements).collect(),
        (Optimizer::AdamW, OptimizerImplementation::Foreach) => {
            vec![sizes.map(|(elements, times)| elements.saturating_mul(times)).fold(0, u64::saturating_add)]
        }
        _ => Vec::new(),
    }
}

/// Plays the step.
///
/// `AdamW` takes the root of each second moment: one parameter after the other in a loop, which lets go of the root before only
/// when the next is made; all at once with `foreach`; inside the kernel when fused. SGD updates in place.
pub(super) fn step(tape: &Tape, plan: &Plan<'_>, shares: &mut Shares) {
    tape.begin(When::Step, 0, Kind::Temporary);
    tape.at("Optimizer step", sources::PYTORCH_AUTOGRAD);
    let mut take = |name, (number, elements): (usize, u64)| {
        let lump = tape.lump(name, (Kind::Temporary, elements, plan.recipe.optimizer_state));
        shares.push((lump.parts().0, Share::Roots(number)));
        lump
    };
    let roots = roots(tape, plan).into_iter().enumerate();
    if plan.implementation == OptimizerImplementation::Foreach {
        return roots.for_each(|all| drop(take("roots of all second moments", all)));
    }
    let mut before: Option<Var<'_>> = None;
    for one in roots {
        let root = take("root of the second moment", one);
        let denominator = take("denominator", one);
        drop(root);
        before = Some(denominator);
    }
    drop(before);
}
