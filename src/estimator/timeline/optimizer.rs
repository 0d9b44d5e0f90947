//! The optimizer's states and the temporaries of its step (`torch/optim`, PyTorch 2.15), as its specification plays them.

use super::plan::{Plan, Share, Shares};
use crate::ops::tape::{Kind, Parameter, State, Tape, Var, When};
use crate::optimizers::{Served, StateFormat, StateValues, StepAct, StepTemporaries, UpdatedParameter};
use crate::sources::{self, Source};
use crate::units::DType;

/// Elements from which on a paged optimizer keeps a parameter's states in pages (bitsandbytes, `optim/optimizer.py`).
const PAGED_FROM: u64 = 100_000;

/// One kind of state: its name, elements, format and source.
type StateOf = (&'static str, u64, DType, Source);

/// The states of the optimizer, each in one piece, since none changes during the step.
pub(super) fn amounts(tape: &Tape, plan: &Plan<'_>) -> Vec<StateOf> {
    if plan.away.optimizer {
        return Vec::new();
    }
    let (state, ranks) = (tape.state(), ranks(plan));
    let share = |values: u64| values.div_ceil(ranks);
    let all = share(sum(&state, plan, Served::All, |parameter| parameter.elements));
    let specs = plan.optimizer.spec().states;
    let own = state.parameters.iter().filter(|parameter| !parameter.idle).find_map(|parameter| plan.own_format(parameter));
    let mut amounts: Vec<StateOf> = Vec::with_capacity(specs.len() + 1);
    if let Some(master) = plan.recipe.master {
        amounts.push(("Master weights", all, master, sources::ZERO_2020));
    }
    for spec in specs {
        let elements = || match spec.serves {
            Served::All => all,
            Served::Nothing | Served::Those(_) => share(sum(&state, plan, spec.serves, |parameter| parameter.elements)),
        };
        let values = match spec.values {
            StateValues::EveryElement => elements(),
            StateValues::OfElements(values) => values(elements()),
            StateValues::OfShape(values) => share(sum(&state, plan, spec.serves, values)),
        };
        let mut push = |values, format: StateFormat| {
            amounts.push((spec.label, values, format.dtype(plan.recipe.optimizer_state), spec.source));
        };
        let apart = own.filter(|_| spec.format == StateFormat::Recipe).map(|own| {
            let elements = |parameter: &UpdatedParameter| if parameter.own_format.is_some() { parameter.elements } else { 0 };
            (own, share(sum(&state, plan, spec.serves, elements)))
        });
        push(values.saturating_sub(apart.map_or(0, |(_, values)| values)), spec.format);
        if let Some((own, values)) = apart {
            push(values, StateFormat::Always(own));
        }
    }
    amounts
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
    let counted = plan.optimizer.spec().counts_steps;
    if !matches!(counted, Served::Nothing) && !plan.away.optimizer {
        tape.at("Step counters", sources::PYTORCH_AUTOGRAD);
        let tensors = sum(&tape.state(), plan, counted, |_| 1);
        held.push(tape.lump("one number per parameter tensor", (Kind::Buffer, tensors, DType::Fp32)));
    }
    held
}

/// Among how many ranks states are dealt out: stages 1 and 2 deal out all parameters as one long vector; shards of stage 3 and FSDP are
/// counted one by one.
fn ranks(plan: &Plan<'_>) -> u64 {
    let shared = plan.sharding.shards_optimizer() && plan.shards().is_none();
    if shared { plan.ranks.max(1) } else { 1 }
}

/// A parameter of the tape as the optimizer sees it, shared out among so many ranks.
fn updated(state: &State, plan: &Plan<'_>, parameter: &Parameter, ranks: u64) -> UpdatedParameter {
    let in_block = parameter.layer > 0 && parameter.layer < plan.head();
    let whole = state.shape(parameter.form).updated(plan.times(parameter.layer), in_block);
    UpdatedParameter { elements: parameter.kept.div_ceil(ranks), own_format: plan.own_format(parameter), ..whole }
}

/// A sum over all parameters whose states stay on the device and are among those served.
fn sum(state: &State, plan: &Plan<'_>, served: Served, of: impl Fn(&UpdatedParameter) -> u64) -> u64 {
    let paged = |found: &Parameter| plan.with.tuning.paged_optimizer && found.kept >= PAGED_FROM;
    let learned = state.parameters.iter().filter(|parameter| !parameter.idle && !paged(parameter));
    let updated = learned.map(|parameter| updated(state, plan, parameter, 1)).filter(|parameter| served.includes(parameter));
    updated.map(|parameter| of(&parameter).saturating_mul(parameter.times)).fold(0, u64::saturating_add)
}

/// The memory that the step takes and frees.
pub(super) fn temporaries(tape: &Tape, plan: &Plan<'_>) -> StepTemporaries {
    let mut step = StepTemporaries::default();
    if !plan.away.optimizer {
        let (state, ranks) = (tape.state(), ranks(plan));
        let learned = state.parameters.iter().filter(|found| !found.idle);
        let updated: Vec<_> = learned.map(|found| updated(&state, plan, found, ranks)).collect();
        (plan.optimizer.spec().temporaries)(plan.implementation, &updated, &mut step);
    }
    step
}

/// Plays the step.
pub(super) fn step(tape: &Tape, plan: &Plan<'_>, shares: &mut Shares) {
    tape.begin(When::Step, 0, Kind::Temporary);
    tape.at("Optimizer step", sources::PYTORCH_AUTOGRAD);
    let mut taken: Vec<Option<Var<'_>>> = Vec::new();
    for act in temporaries(tape, plan).acts() {
        match *act {
            StepAct::Taken { name, elements, format } => {
                let lump = tape.lump(name, (Kind::Temporary, elements, format.dtype(plan.recipe.optimizer_state)));
                shares.push((lump.parts().0, Share::Temporaries(taken.len())));
                taken.push(Some(lump));
            }
            StepAct::Freed(number) => drop(taken.get_mut(number).and_then(Option::take)),
        }
    }
}
