//! Every tensor that a training takes and frees, one by one, in the order in which PyTorch does it:
//! what its allocator is asked for.

use std::ops::Range;

use super::coordinator::Coordinator;
use super::plan::Plan;
use super::play::{self, Parts};
use super::{evaluation, is_played, loading, most_loaded};
use crate::config::Job;
use crate::estimator::stage;
use crate::ops::tape::{Entry, KEPT_WORKSPACE, State, Tape};

/// A tensor's memory is taken or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorEvent {
    /// Memory of a tensor is taken.
    Taken {
        /// Number of the tensor, by which [`Self::Freed`] names it.
        tensor: u32,
        /// How many bytes are asked for, not rounded.
        bytes: u64,
        /// The stream that it is used on: 0 is the one that computes.
        stream: u8,
        /// The operation that takes it.
        op: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// Memory of a tensor is freed.
    Freed {
        /// Its number.
        tensor: u32,
    },
    /// The framework calls `torch.cuda.empty_cache()`.
    CacheEmptied,
}

/// A training in parts; a tensor keeps its number through all of them.
///
/// A first step is [`Self::opening`], where it is not empty, else [`Self::first_micro_batch`],
/// [`Self::further_micro_batch`] for each further one (for the last one
/// [`Self::last_micro_batch`], where it is not empty), [`Self::ready`],
/// [`Self::states`] and [`Self::step`]; later steps leave out the states. Behind each is
/// [`Self::evaluation`]. A part may be repeated: every tensor that it takes, and that the parts
/// behind it do not free, is taken in that part for the first time only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Parameters, buffers and token ids.
    pub build: Vec<TensorEvent>,
    /// Forward and backward of the very first micro-batch, where they differ from the first
    /// micro-batch of later steps; else empty.
    pub opening: Vec<TensorEvent>,
    /// Forward and backward of the first micro-batch of a step, which leaves its gradients.
    pub first_micro_batch: Vec<TensorEvent>,
    /// Forward and backward of any further micro-batch, which adds to the gradients; empty where a
    /// step has one micro-batch.
    pub further_micro_batch: Vec<TensorEvent>,
    /// Forward and backward of a step's last micro-batch, where that one alone reduces gradients;
    /// empty where the last is like any further one.
    pub last_micro_batch: Vec<TensorEvent>,
    /// Events that make gradients ready for the optimizer, before it makes its states; empty where
    /// they are part of [`Self::step`].
    pub ready: Vec<TensorEvent>,
    /// The states that the optimizer makes at the first step, before it updates anything.
    pub states: Vec<TensorEvent>,
    /// The optimizer's step, and the gradients that `zero_grad` frees after it.
    pub step: Vec<TensorEvent>,
    /// Events that happen once, before the second step.
    pub rebuilt: Vec<TensorEvent>,
    /// An evaluation behind a step, of which nothing stays; empty where there is none.
    pub evaluation: Vec<TensorEvent>,
}

/// Returns the order in which a training on one rank takes and frees its tensors, part by part, on
/// the most loaded stage; `None` when serving, and for kernels whose step is not played operator by
/// operator.
pub fn sequence(job: &Job) -> Option<Sequence> {
    sequence_of(job, None, None)
}

/// Returns [`sequence`] of that pipeline stage, or of the most loaded one, on that data-parallel
/// rank, or on the fullest one.
pub(in crate::estimator) fn sequence_of(
    job: &Job,
    index: Option<u64>,
    rank: Option<u64>,
) -> Option<Sequence> {
    let run = job.training().filter(|run| is_played(run))?;
    let stage = if job.layout().p() > 1 {
        stage::stage(job, index.unwrap_or_else(|| most_loaded(job, run, false).stage()))
    } else {
        stage::only(job)
    };
    let plan = Plan { rank, ..Plan::of_every_tensor(job, run, stage) };
    let tape = Tape::new();
    let Parts { emptied, built, first, further, last, ready, states, step, rebuilt } =
        play::play_all(&tape, &plan);
    let state = tape.state();
    let part = |from: usize, to: usize| events(&state, state.log.get(from..to).unwrap_or_default());
    let coordinator = plan.is_coordinated().then(|| Coordinator::of(&state, &plan));
    let [mut opening, mut first_micro_batch, further_micro_batch] = match coordinator {
        // Gradients that live on are there when a step begins, as where they add up; the very first
        // finds none.
        None if plan.keeps_gradients => {
            [part(built, first), part(first, further), part(first, further)]
        }
        None => [Vec::new(), part(built, first), part(first, further)],
        Some(mut coordinator) => {
            [(built..first, false), (built..first, true), (first..further, true)].map(
                |(range, knows)| woven(&state, &range, coordinator.play(&state, &range, knows)),
            )
        }
    };
    open_with_workspaces(&mut opening, &mut first_micro_batch);
    let mut build = part(0, emptied);
    build.extend((emptied > 0).then_some(TensorEvent::CacheEmptied));
    build.extend(part(emptied, built));
    Some(Sequence {
        build: loading::with_packing((&state, &plan), build),
        opening,
        first_micro_batch,
        further_micro_batch,
        last_micro_batch: part(further, last),
        ready: part(last, ready),
        states: part(ready, states),
        step: part(states, step),
        rebuilt: part(step, rebuilt),
        evaluation: evaluation::every_tensor(job, run, &plan, (&state, &(built..first))),
    })
}

/// Workspaces of products that are kept are taken by the very first micro-batch alone.
fn open_with_workspaces(opening: &mut Vec<TensorEvent>, first: &mut Vec<TensorEvent>) {
    let is_kept = |event: &TensorEvent| matches!(event, TensorEvent::Taken { name, .. } if *name == KEPT_WORKSPACE);
    if first.iter().any(is_kept) {
        if opening.is_empty() {
            opening.clone_from(first);
        }
        first.retain(|event| !is_kept(event));
    }
}

pub(super) fn events(state: &State, log: &[Entry]) -> Vec<TensorEvent> {
    log.iter().filter_map(|entry| event(state, *entry)).collect()
}

/// The events of a part of the log with others between them, each before the event of the log at
/// its place.
pub(super) fn woven(
    state: &State,
    part: &Range<usize>,
    others: Vec<(usize, TensorEvent)>,
) -> Vec<TensorEvent> {
    let mut others = others.into_iter().peekable();
    let mut woven = Vec::new();
    for (place, entry) in state.log.iter().enumerate().take(part.end).skip(part.start) {
        while let Some((_, other)) = others.next_if(|(before, _)| *before <= place) {
            woven.push(other);
        }
        woven.extend(event(state, *entry));
    }
    woven.extend(others.map(|(_, other)| other));
    woven
}

fn event(state: &State, entry: Entry) -> Option<TensorEvent> {
    let (Entry::Taken(tensor) | Entry::Freed(tensor) | Entry::Turned(tensor)) = entry;
    // The allocator is not asked for a tensor of nothing, as a rank's part of a parameter may be.
    let storage =
        state.storages.get(usize::try_from(tensor).ok()?).filter(|storage| storage.bytes > 0)?;
    match entry {
        Entry::Taken(_) => {
            let (op, name) = (state.op_name(storage.taken_in).0, storage.name);
            Some(TensorEvent::Taken {
                tensor,
                bytes: storage.bytes,
                stream: storage.stream,
                op,
                name,
            })
        }
        Entry::Freed(_) => Some(TensorEvent::Freed { tensor }),
        Entry::Turned(_) => None,
    }
}
