//! The optimizer's states and the temporaries of its step (`torch/optim`, PyTorch 2.15), as its
//! specification plays them.

use super::groups::Bucket;
use super::plan::{Plan, Share, Shares};
use super::stage_0;
use crate::config::Dispatch;
use crate::ops::EMBEDDING;
use crate::ops::tape::{Kind, Parameter, State, Tape, Var, When};
use crate::optimizers::{
    Served, StateFormat, StateSpec, StateValues, StepAct, StepTemporaries, UpdatedParameter,
};
use crate::sharding::{Buckets, Pieces};
use crate::sources::{self, Source};
use crate::units::DType;

/// Elements from which on a paged optimizer keeps a parameter's states in pages (bitsandbytes,
/// `optim/optimizer.py`).
const PAGED_FROM: u64 = 100_000;

/// The label of fp32 weights that the optimizer keeps.
const MASTER_WEIGHTS: &str = "Master weights";

/// One kind of state: its name, elements, format and source.
type StateOf = (&'static str, u64, DType, Source);

/// The parameters that learn, as the optimizer sees what this rank keeps of them.
pub(super) fn learned(tape: &Tape, plan: &Plan<'_>) -> Vec<UpdatedParameter> {
    let state = tape.state();
    let mut learned = Vec::with_capacity(state.parameters.len());
    learned.extend(
        state
            .parameters
            .iter()
            .filter(|found| !found.idle)
            .map(|found| updated(&state, plan, found)),
    );
    learned
}

/// The states of the optimizer, each in one piece, since none changes during the step.
pub(super) fn amounts(learned: &[UpdatedParameter], plan: &Plan<'_>) -> Vec<StateOf> {
    if plan.away.optimizer {
        return Vec::new();
    }
    let ranks = ranks(plan);
    let share = |values: u64| values.div_ceil(ranks);
    let all = share(sum(learned, plan, Served::All, |parameter| parameter.elements));
    let of_paged = |served| share(sum_with_paged(learned, served, |parameter| parameter.elements));
    let specs = plan.optimizer.spec().states;
    let own = learned.iter().find_map(|parameter| parameter.own_format);
    let mut amounts: Vec<StateOf> = Vec::with_capacity(specs.len() + 1);
    if let Some(master) = plan.recipe.master {
        amounts.push((MASTER_WEIGHTS, all, master, sources::ZERO_2020));
    }
    for spec in specs {
        let elements = || match spec.serves {
            Served::All => all,
            Served::Nothing | Served::Those(_) => {
                share(sum(learned, plan, spec.serves, |parameter| parameter.elements))
            }
        };
        let values = match spec.values {
            StateValues::EveryElement => elements(),
            StateValues::OfElements(values) => values(of_paged(spec.serves)),
            StateValues::OfShape(values) => share(sum_with_paged(learned, spec.serves, values)),
        };
        let mut push = |values, format: StateFormat| {
            amounts.push((
                spec.label,
                values,
                format.dtype(plan.recipe.optimizer_state),
                spec.source,
            ));
        };
        let apart = own.filter(|_| spec.format == StateFormat::Recipe).map(|own| {
            let elements = |parameter: &UpdatedParameter| {
                if parameter.own_format.is_some() { parameter.elements } else { 0 }
            };
            (own, share(sum(learned, plan, spec.serves, elements)))
        });
        push(values.saturating_sub(apart.map_or(0, |(_, values)| values)), spec.format);
        if let Some((own, values)) = apart {
            push(values, StateFormat::Always(own));
        }
    }
    amounts
}

/// Takes the memory of the states.
pub(super) fn states<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    learned: &[UpdatedParameter],
    shares: &mut Shares,
) -> Vec<Var<'t>> {
    tape.begin(When::Before, 0, Kind::OptimizerState);
    if plan.is_coordinated() {
        return states_of_sub_groups(tape, plan, learned);
    }
    if plan.singly && ranks(plan) == 1 {
        // DeepSpeed's stage 0 has made them before the first step.
        let made = plan.whole_masters().is_some();
        return if made { Vec::new() } else { states_of_each(tape, plan, learned) };
    }
    let mut held: Vec<Var<'_>> = Vec::with_capacity(5);
    for (number, (name, elements, dtype, source)) in amounts(learned, plan).into_iter().enumerate()
    {
        if plan.singly && plan.builds_vector() && name == MASTER_WEIGHTS {
            continue;
        }
        tape.at(name, source);
        let states = tape.lump("one value per parameter", (Kind::OptimizerState, elements, dtype));
        shares.push((states.parts().0, Share::States(number)));
        held.push(states);
    }
    let counted = plan.optimizer.spec().counts_steps;
    if !matches!(counted, Served::Nothing) && !plan.away.optimizer && counts_on_device(plan) {
        tape.at("Step counters", sources::PYTORCH_AUTOGRAD);
        let tensors = sum(learned, plan, counted, |_| 1);
        held.push(
            tape.lump("one number per parameter tensor", (Kind::Buffer, tensors, DType::Fp32)),
        );
    }
    held
}

/// The states of one parameter after the other, as `_init_group` makes them before the first
/// update: the step counter first.
pub(super) fn states_of_each<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    learned: &[UpdatedParameter],
) -> Vec<Var<'t>> {
    if plan.away.optimizer {
        return Vec::new();
    }
    let spec = plan.optimizer.spec();
    let mut held = Vec::with_capacity(3 * learned.len());
    for parameter in learned.iter().filter(|parameter| is_updated(parameter)) {
        let paged = is_paged(plan, parameter);
        if counts_on_device(plan) && spec.counts_steps.includes(parameter) {
            tape.at("Step counters", sources::PYTORCH_AUTOGRAD);
            held.push(tape.lump("number of steps", (Kind::Buffer, 1, DType::Fp32)));
        }
        if let Some(master) = plan.recipe.master.filter(|_| plan.whole_masters().is_none()) {
            tape.at("Master weights", sources::ZERO_2020);
            held.push(
                tape.lump("master weight", (Kind::OptimizerState, parameter.elements, master)),
            );
        }
        let kept = |state: &&StateSpec| {
            state.serves.includes(parameter) && !(paged && state.values.are_paged())
        };
        for state in spec.states.iter().filter(kept) {
            let values = match state.values {
                StateValues::EveryElement => parameter.elements,
                StateValues::OfElements(values) => values(parameter.elements),
                StateValues::OfShape(values) => values(parameter),
            };
            let format = if state.format == StateFormat::Recipe {
                parameter.state_format()
            } else {
                state.format
            };
            tape.at(state.label, state.source);
            let dtype = format.dtype(plan.recipe.optimizer_state);
            held.push(tape.lump("one value per element", (Kind::OptimizerState, values, dtype)));
        }
    }
    held
}

/// True if the number of steps is a tensor on the GPU. Only the fused kernel reads it there
/// (`torch/optim/adamw.py`, `_init_group`); the tracker counts tensors in host memory as well.
fn counts_on_device(plan: &Plan<'_>) -> bool {
    match plan.with.dispatch {
        Dispatch::CpuTracker => true,
        Dispatch::Cuda => plan.implementation.counts_steps_on_device(),
    }
}

/// True if the optimizer updates any element of a parameter on this rank.
const fn is_updated(parameter: &UpdatedParameter) -> bool {
    parameter.elements > 0
}

/// True if a paged optimizer keeps the states of a parameter in pages.
const fn is_paged(plan: &Plan<'_>, parameter: &UpdatedParameter) -> bool {
    plan.with.tuning.paged_optimizer && parameter.elements >= PAGED_FROM
}

/// Among how many ranks states are dealt out: stages 1 and 2 deal out all parameters as one long
/// vector; shards of stage 3 and FSDP are counted one by one.
fn ranks(plan: &Plan<'_>) -> u64 {
    let shared = plan.sharding.shards_optimizer() && plan.shards().is_none();
    if shared { plan.ranks.max(1) } else { 1 }
}

/// A parameter of the tape as the optimizer sees it.
fn updated(state: &State, plan: &Plan<'_>, parameter: &Parameter) -> UpdatedParameter {
    let in_block = parameter.layer > 0 && parameter.layer < plan.head();
    let kept = usize::try_from(parameter.storage).ok().and_then(|at| state.storages.get(at));
    let name = kept.map_or("", |storage| storage.name);
    let shape = state.shape(parameter.form).updated(plan.times(parameter.layer), in_block);
    let whole = UpdatedParameter { is_embedding: name.ends_with(EMBEDDING), ..shape };
    let whole = if plan.sharding.pieces == Pieces::OfOneVectorPerGroup && plan.shards().is_some() {
        UpdatedParameter { dimensions: 1, matrix: None, ..whole }
    } else {
        whole
    };
    UpdatedParameter { elements: parameter.kept, own_format: plan.own_format(parameter), ..whole }
}

/// A sum over all parameters whose states stay on the device and are among those served.
fn sum(
    learned: &[UpdatedParameter],
    plan: &Plan<'_>,
    served: Served,
    of: impl Fn(&UpdatedParameter) -> u64,
) -> u64 {
    sum_with_paged(
        learned,
        served,
        |parameter| if is_paged(plan, parameter) { 0 } else { of(parameter) },
    )
}

/// A sum over all parameters that are among those served, paged or not. It is for states that are
/// not as large as the parameter, because these stay on the device.
fn sum_with_paged(
    learned: &[UpdatedParameter],
    served: Served,
    of: impl Fn(&UpdatedParameter) -> u64,
) -> u64 {
    let updated = learned.iter().filter(|parameter| served.includes(parameter));
    updated
        .map(|parameter| of(parameter).saturating_mul(parameter.times))
        .fold(0, u64::saturating_add)
}

/// The memory that the step takes and frees.
pub(super) fn temporaries(learned: &[UpdatedParameter], plan: &Plan<'_>) -> StepTemporaries {
    let mut step = StepTemporaries::new(plan.recipe.optimizer_state, plan.singly);
    if !plan.away.optimizer {
        let ranks = ranks(plan);
        let share = |found: &UpdatedParameter| UpdatedParameter {
            elements: found.elements.div_ceil(ranks),
            ..*found
        };
        let mut updated = Vec::with_capacity(learned.len());
        // Played together, a rank's part of a parameter may be of no elements: other ranks have
        // some.
        updated.extend(learned.iter().filter(|found| !plan.singly || is_updated(found)).map(share));
        (plan.optimizer.spec().temporaries)(plan.implementation, &updated, &mut step);
    }
    step
}

/// Elements of the gradients that DeepSpeed's optimizers upcast at once; 0 under others.
///
/// A rank's gradients are joined, copied into the format of the master weights, and stay so until
/// the states are updated (`step` in deepspeed/runtime/zero/stage_1_and_2.py; stage3.py goes
/// through sub-groups of `sub_group_size`).
pub(super) fn upcast(learned: &[UpdatedParameter], plan: &Plan<'_>) -> u64 {
    if stage_0::casts_all_gradients(plan).is_some() {
        return sum(learned, plan, Served::All, |parameter| parameter.elements);
    }
    let by_deepspeed = plan.buckets.0.is_of_stated_size() && plan.sharding.shards_gradients();
    // Stage 3 joins gradients whatever their format.
    let is_wide =
        |master: DType| master == plan.recipe.gradient && plan.buckets.0 != Buckets::Lasting;
    if !by_deepspeed || plan.away.optimizer || plan.recipe.master.is_none_or(is_wide) {
        return 0;
    }
    let all = sum(learned, plan, Served::All, |parameter| parameter.elements).div_ceil(ranks(plan));
    if plan.buckets.0 == Buckets::Lasting { all.min(plan.library.sub_group_size) } else { all }
}

/// Joins and upcasts gradients. What is returned stays until the end of the step.
fn upcasted<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    learned: &[UpdatedParameter],
    shares: &mut Shares,
) -> Option<Var<'t>> {
    let elements = if plan.singly && (plan.builds_vector() || plan.is_coordinated()) {
        0
    } else {
        upcast(learned, plan)
    };
    let master = plan.recipe.master.filter(|_| elements > 0)?;
    let mut take = |name, dtype| {
        let lump = tape.lump(name, (Kind::Temporary, elements, dtype));
        shares.push((lump.parts().0, Share::Upcast));
        lump
    };
    let joined = take("gradients of the share, joined", plan.recipe.gradient);
    if master == plan.recipe.gradient {
        return Some(joined);
    }
    let wide = take("gradients of the share, upcast", master);
    drop(joined);
    Some(wide)
}

/// Makes the gradients of a bucket ready for the optimizer: their norm is taken in fp64, piece by
/// piece (`get_grad_norm_direct`), they are joined where there are several, and cast to the format
/// of master weights. What is returned stays until the end of the step.
pub(super) fn ready<'t>(tape: &'t Tape, plan: &Plan<'_>, bucket: &Bucket<'t>) -> Option<Var<'t>> {
    /// An fp64 number takes the memory of two fp32 ones.
    const FP64: u64 = 2;
    tape.begin(When::Step, 0, Kind::Temporary);
    tape.at("Optimizer step", sources::DEEPSPEED);
    let take = |name, elements, dtype| tape.lump(name, (Kind::Temporary, elements, dtype));
    let pieces: Vec<u64> = bucket.pieces().collect();
    let all = pieces.iter().sum();
    if bucket.is_compact() && !plan.is_coordinated() {
        for piece in pieces {
            drop(take("a gradient in fp64, for its norm", piece * FP64, DType::Fp32));
        }
        return None;
    }
    for piece in &pieces {
        drop(take("a gradient in fp64, for its norm", piece * FP64, DType::Fp32));
    }
    if plan.is_coordinated() {
        return sub_groups(plan, pieces).into_iter().fold(None, |before, all| {
            drop(before);
            let joined = take("gradients of the share, joined", all, plan.recipe.gradient);
            let wide = plan.recipe.master.filter(|master| *master != plan.recipe.gradient);
            Some(wide.map_or(joined, |wide| take("gradients of the share, upcast", all, wide)))
        });
    }
    let joined = (pieces.len() > 1)
        .then(|| take("gradients of the share, joined", all, plan.recipe.gradient));
    let wide = plan.recipe.master.filter(|master| *master != plan.recipe.gradient);
    let upcast = wide.map(|wide| take("gradients of the share, upcast", all, wide));
    bucket.let_go();
    if upcast.is_none() { joined } else { upcast }
}

/// Elements of the sub-groups into which stage 3 sorts a rank's pieces (`_create_fp16_sub_groups`):
/// a full one takes no more.
pub(super) fn sub_groups(plan: &Plan<'_>, pieces: Vec<u64>) -> Vec<u64> {
    let mut groups: Vec<u64> = Vec::new();
    for piece in pieces {
        match groups.last_mut().filter(|group| **group < plan.library.sub_group_size) {
            Some(group) => *group = group.saturating_add(piece),
            None => groups.push(piece),
        }
    }
    groups
}

/// The states of stage 3's sub-groups, but master weights, which were made before the first step.
fn states_of_sub_groups<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    learned: &[UpdatedParameter],
) -> Vec<Var<'t>> {
    let pieces = learned.iter().map(|found| found.elements).collect();
    let spec = plan.optimizer.spec();
    let mut held = Vec::new();
    for elements in sub_groups(plan, pieces) {
        let vector = UpdatedParameter::vector(elements);
        for state in spec.states.iter().filter(|state| state.serves.includes(&vector)) {
            let values = match state.values {
                StateValues::EveryElement => elements,
                StateValues::OfElements(values) => values(elements),
                StateValues::OfShape(values) => values(&vector),
            };
            tape.at(state.label, state.source);
            let dtype = state.format.dtype(plan.recipe.optimizer_state);
            held.push(tape.lump("one value per element", (Kind::OptimizerState, values, dtype)));
        }
    }
    held
}

/// Plays the step.
pub(super) fn step(
    tape: &Tape,
    plan: &Plan<'_>,
    learned: &[UpdatedParameter],
    shares: &mut Shares,
) {
    tape.begin(When::Step, 0, Kind::Temporary);
    tape.at("Optimizer step", sources::PYTORCH_AUTOGRAD);
    let _upcast = match stage_0::casts_all_gradients(plan) {
        Some(master) => stage_0::cast_up(tape, plan, learned, (master, shares)),
        None => upcasted(tape, plan, learned, shares).into_iter().collect(),
    };
    let mut taken: Vec<Option<Var<'_>>> = Vec::new();
    for act in temporaries(learned, plan).acts() {
        match *act {
            StepAct::Taken { name, elements, format } => {
                let lump = tape.lump(
                    name,
                    (Kind::Temporary, elements, format.dtype(plan.recipe.optimizer_state)),
                );
                shares.push((lump.parts().0, Share::Temporaries(taken.len())));
                taken.push(Some(lump));
            }
            StepAct::Freed(number) => drop(taken.get_mut(number).and_then(Option::take)),
        }
    }
}
