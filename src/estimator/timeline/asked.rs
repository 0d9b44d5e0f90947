//! The tensors that a step asks the allocator for, each with its shape and the moments at which it
//! does.

use super::plan::{Plan, Share};
use super::{Mark, Played, most_loaded, optimizer, sum};
use crate::config::{Job, TrainingRun};
use crate::estimator::law::bytes;
use crate::estimator::{accompanied_run, megatron_run, played_run};
use crate::ops::tape::{Entry, Kind, Parameter, State, Storage, When};
use crate::ops::{Op, Role, Shape, megatron};
use crate::optimizers::StateValues;
use crate::units::{Bytes, DType, Elements};

/// Memory that is asked for in one piece.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedTensor {
    /// The operation that asks for it, such as `Output head and loss`.
    pub op: &'static str,
    /// Its name, such as `logits`.
    pub name: &'static str,
    /// Named dimensions; those of the whole tensor where ranks share it.
    pub shape: Shape,
    /// Format.
    pub dtype: DType,
    /// Bytes of one of them on this rank.
    pub bytes: Bytes,
    /// When it is asked for, in the order of the step; empty where the order is not known.
    pub moments: Vec<AskedMoment>,
}

/// A moment at which a tensor is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedMoment {
    /// When it is, such as `when the loss is computed`.
    pub name: &'static str,
    /// True if the moment is in the very first step, in which the optimizer's states do not exist
    /// yet.
    pub in_first_step: bool,
    /// The fewest and the most bytes of tensors that are alive just before it is asked for; `None`
    /// where other models share the memory, whose own order is not known.
    pub alive_before: Option<[Bytes; 2]>,
}

impl AskedTensor {
    /// True if the other tensor looks alike: only the moments may differ.
    fn is_like(&self, other: &Self) -> bool {
        self.bytes == other.bytes
            && self.dtype == other.dtype
            && self.name == other.name
            && self.op == other.op
            && self.shape == other.shape
    }
}

/// Returns every tensor that the most loaded rank asks the allocator for in one training step,
/// bytes each; parameters and optimizer states are included, and tensors that look the same stand
/// once.
///
/// A step that is played operator by operator gives each tensor its moments. Of Megatron-LM's step
/// the tensors are known, but not the moments; when serving, this is empty, because servers ask for
/// whole buffers.
///
/// Assumes that optimizer states and the temporaries of the optimizer's step are asked for
/// parameter by parameter, as `torch.optim`'s `foreach` does (`torch/optim/_multi_tensor`), except
/// where ranks deal states out as one flat vector.
pub fn asked_tensors(job: &Job) -> Vec<AskedTensor> {
    if let Some(run) = played_run(job) {
        return of_played(job, run);
    }
    megatron_run(job).map_or_else(Vec::new, |run| of_megatron(job, run))
}

/// The tensors of Megatron-LM's modules on one rank.
fn of_megatron(job: &Job, run: &TrainingRun) -> Vec<AskedTensor> {
    let model = megatron::rank_model(job, run);
    let mut found = Vec::new();
    for step in [&model.embedding, &model.dense, &model.experts, &model.head].into_iter().flatten()
    {
        of_op(&step.op, &mut found);
    }
    found
}

/// The tensors of one operation, whose shapes are this rank's own.
fn of_op(op: &Op, found: &mut Vec<AskedTensor>) {
    for tensor in op.tensors.iter().filter(|tensor| tensor.role != Role::KvCache) {
        let (name, shape, dtype) = (tensor.name, tensor.shape, tensor.dtype);
        add(
            found,
            AskedTensor {
                op: op.name,
                name,
                shape,
                dtype,
                bytes: tensor.bytes(),
                moments: Vec::new(),
            },
        );
    }
}

/// The tensors of a step that is played.
fn of_played(job: &Job, run: &TrainingRun) -> Vec<AskedTensor> {
    let played = most_loaded(job, run, false);
    let state = played.tape.state();
    let mut found: Vec<AskedTensor> = Vec::new();
    let before = AskedMoment { name: "before the step", in_first_step: false, alive_before: None };
    for (at, storage) in state.storages.iter().enumerate().take(played.before) {
        if is_one_piece(&played, at) {
            add(&mut found, of_storage(&state, storage, before));
        }
    }
    let late = late_states(&played, &state);
    let is_alone = accompanied_run(job).is_none();
    for tensor in of_states(&played, &state, is_alone) {
        add(&mut found, tensor);
    }
    for mark in &played.marks {
        of_mark(&played, &state, mark, |storage, alive| {
            let moment = |in_first_step: bool, alive_before: [Bytes; 2]| {
                let alive_before = is_alone.then_some(alive_before);
                AskedMoment { name: played.moment(mark), in_first_step, alive_before }
            };
            add(&mut found, of_storage(&state, storage, moment(false, alive)));
            if late > Bytes::ZERO && mark.segment.when != When::Step {
                let fewer = alive.map(|alive| alive.saturating_sub(late));
                add(&mut found, of_storage(&state, storage, moment(true, fewer)));
            }
        });
    }
    for tensor in of_temporaries(&played, &state, is_alone) {
        add(&mut found, tensor);
    }
    if let Some(evaluation) = played.evaluation.as_deref() {
        of_evaluation(evaluation, is_alone, &mut found);
    }
    found
}

/// The tensors of an evaluation between steps.
fn of_evaluation(evaluation: &Played<'_>, is_alone: bool, found: &mut Vec<AskedTensor>) {
    let state = evaluation.tape.state();
    for mark in &evaluation.marks {
        of_mark(evaluation, &state, mark, |storage, alive| {
            let (name, alive_before) = (evaluation.moment(mark), is_alone.then_some(alive));
            let moment = AskedMoment { name, in_first_step: false, alive_before };
            add(found, of_storage(&state, storage, moment));
        });
    }
}

/// Shows every tensor that is asked for in a stretch, with the fewest and the most bytes that are
/// alive before it.
fn of_mark(
    played: &Played<'_>,
    state: &State,
    mark: &Mark,
    mut show: impl FnMut(&Storage, [Bytes; 2]),
) {
    let (segment, Some(held)) = (&mark.segment, state.held.get(mark.at)) else { return };
    // Blocks alike are played once: the first repetition stands beside less than the last.
    let beside = [sum(&mark.start) - sum(&held.start), sum(&mark.end) - sum(&held.end)];
    let mut alive = sum(&held.start);
    for entry in state.log.get(segment.begins..segment.ends).unwrap_or_default() {
        let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
        let Some((at, storage)) = place(*id).and_then(|at| Some((at, state.storages.get(at)?)))
        else {
            continue;
        };
        match entry {
            Entry::Taken(_) => {
                if is_one_piece(played, at) {
                    let [first, last] = beside.map(|beside| bytes(alive + beside));
                    show(storage, [first.min(last), first.max(last)]);
                }
                alive += i128::from(storage.bytes);
            }
            Entry::Freed(_) => alive -= i128::from(storage.bytes),
            Entry::Turned(_) => {}
        }
    }
}

/// The place of a storage among all.
fn place(id: u32) -> Option<usize> {
    usize::try_from(id).ok()
}

/// True if a storage of the tape is one tensor. Some storages stand for the tensors of all
/// parameters together.
fn is_one_piece(played: &Played<'_>, at: usize) -> bool {
    let share = played.shares.iter().find(|(id, _)| place(*id) == Some(at)).map(|(_, share)| share);
    let name = played.tape.state().storages.get(at).map(|storage| storage.name);
    match share {
        Some(Share::States(_) | Share::Temporaries(_)) => is_flat(&played.plan),
        // FSDP2 copies a gathered group out parameter by parameter.
        _ => !matches!(name, Some("full weights" | "one number per parameter tensor")),
    }
}

/// True if ranks deal optimizer states out as one flat vector.
fn is_flat(plan: &Plan<'_>) -> bool {
    plan.sharding.shards_optimizer() && plan.shards().is_none() && plan.ranks > 1
}

/// A storage of the tape, asked for once.
fn of_storage(state: &State, storage: &Storage, moment: AskedMoment) -> AskedTensor {
    AskedTensor {
        op: state.op_name(storage.taken_in).0,
        name: storage.name,
        shape: state.shape(storage.form),
        dtype: storage.dtype,
        bytes: Bytes(storage.bytes),
        moments: vec![moment],
    }
}

/// The label of the fp32 weights that a precision recipe keeps beside those of the compute format.
const MASTER_WEIGHTS: &str = "Master weights";

/// Bytes of the states that `torch.optim` makes at the end of the first step; others are there from
/// the start.
fn late_states(played: &Played<'_>, state: &State) -> Bytes {
    let before = state.storages.iter().take(played.before);
    let states = before.filter(|storage| {
        storage.born == Kind::OptimizerState && state.op_name(storage.op).0 != MASTER_WEIGHTS
    });
    if is_flat(&played.plan) {
        Bytes::ZERO
    } else {
        states.map(|storage| Bytes(storage.bytes)).sum()
    }
}

/// A tensor for each parameter that learns, of that format.
fn of_parameters(
    played: &Played<'_>,
    state: &State,
    (op, dtype): (&'static str, DType),
    moment: AskedMoment,
) -> Vec<AskedTensor> {
    if is_flat(&played.plan) || played.plan.away.optimizer {
        return Vec::new();
    }
    let learned =
        state.parameters.iter().filter(|found| !found.idle && !found.frozen && !found.beside);
    let tensor = |parameter: &Parameter| {
        let name = place(parameter.storage)
            .and_then(|at| state.storages.get(at))
            .map_or("", |storage| storage.name);
        let (shape, bytes) =
            (state.shape(parameter.form), Elements(parameter.kept).stored_as(dtype));
        AskedTensor { op, name, shape, dtype, bytes, moments: vec![moment] }
    };
    learned.map(tensor).collect()
}

/// The optimizer's states, a tensor for each parameter that learns.
fn of_states(played: &Played<'_>, state: &State, is_alone: bool) -> Vec<AskedTensor> {
    let (plan, late) = (&played.plan, late_states(played, state));
    let step = played.marks.iter().find(|mark| mark.segment.when == When::Step);
    let alive_before = step.filter(|_| is_alone).map(|mark| {
        let most = bytes(sum(&mark.start));
        [most.saturating_sub(late), most]
    });
    let before = AskedMoment { name: "before the step", in_first_step: false, alive_before: None };
    let first_step =
        AskedMoment { name: "when the optimizer steps", in_first_step: true, alive_before };
    let master = plan.recipe.master.map(|master| ((MASTER_WEIGHTS, master), before));
    let specs = plan
        .optimizer
        .spec()
        .states
        .iter()
        .filter(|spec| matches!(spec.values, StateValues::EveryElement));
    let states = specs
        .map(|spec| ((spec.label, spec.format.dtype(plan.recipe.optimizer_state)), first_step));
    master
        .into_iter()
        .chain(states)
        .flat_map(|(kind, moment)| of_parameters(played, state, kind, moment))
        .collect()
}

/// The temporaries of the optimizer's step, a tensor for each parameter that learns; none where it
/// needs none.
fn of_temporaries(played: &Played<'_>, state: &State, is_alone: bool) -> Vec<AskedTensor> {
    let learned = optimizer::learned(&played.tape, &played.plan);
    if optimizer::temporaries(&learned, &played.plan).acts().is_empty() {
        return Vec::new();
    }
    let step = played.marks.iter().find(|mark| mark.segment.when == When::Step);
    let alive_before = step
        .filter(|_| is_alone)
        .map(|mark| [&mark.start, &mark.peak].map(|totals| bytes(sum(totals))));
    let moment =
        AskedMoment { name: "when the optimizer steps", in_first_step: false, alive_before };
    of_parameters(played, state, ("Optimizer step", played.plan.recipe.optimizer_state), moment)
}

/// Adds a tensor; where the same is known, its moments.
fn add(found: &mut Vec<AskedTensor>, tensor: AskedTensor) {
    let Some(known) = found.iter_mut().find(|known| known.is_like(&tensor)) else {
        found.push(tensor);
        return;
    };
    for moment in tensor.moments {
        match known
            .moments
            .iter_mut()
            .find(|known| (known.name, known.in_first_step) == (moment.name, moment.in_first_step))
        {
            Some(AskedMoment { alive_before: Some([fewest, most]), .. }) => {
                let [low, high] = moment.alive_before.unwrap_or([*fewest, *most]);
                (*fewest, *most) = ((*fewest).min(low), (*most).max(high));
            }
            Some(_) => {}
            None => known.moments.push(moment),
        }
    }
}
