//! One step of the most loaded stage as memory taken and freed.

use super::schedule::{self, Covered, Pass, Place};
use super::{Scope, is_input, peak, survives};
use crate::config::{Job, PassType, TrainingRun};
use crate::estimator::ledger::LineItem;
use crate::estimator::timeline::MemoryEvent;
use crate::ops::megatron::{Module, RankOp, rank_model};
use crate::ops::{Role, Tensor};

/// Everything that the most loaded stage takes and frees in a step, after what is resident.
pub(in crate::estimator) fn events(job: &Job, run: &TrainingRun) -> Vec<MemoryEvent> {
    let model = rank_model(job, run);
    let index = peak(job, run, None, false).stage;
    let scope = Scope { job, run, model: &model, stage: schedule::stage(job, run, index) };
    let line = |line: LineItem| MemoryEvent {
        op: line.label,
        name: line.label,
        bytes: i128::from(line.bytes.0),
    };
    let mut events: Vec<MemoryEvent> = scope.resident(false).into_iter().map(line).collect();
    for pass in schedule::passes(&job.pipeline(), index) {
        for _ in 0..pass.times {
            scope.pass_events(pass, &mut events);
        }
    }
    events
}

impl Scope<'_> {
    /// Adds the memory that one pass takes and frees.
    fn pass_events(&self, pass: Pass, events: &mut Vec<MemoryEvent>) {
        let Some(places) = self.stage.chunks.get(pass.chunk) else { return };
        let with_head = self.stage.head == Some(pass.chunk);
        let embedding =
            self.model.embedding.iter().filter(|_| self.stage.embedding == Some(pass.chunk));
        match pass.work {
            PassType::Forward => {
                embedding.for_each(|step| saved_events(step, |_| true, true, events));
                for place in places {
                    let kept = |tensor: &Tensor| match place.covered {
                        Covered::No => survives(self.run, tensor),
                        Covered::First => is_input(tensor),
                        Covered::With => false,
                    };
                    self.steps(place.kind)
                        .iter()
                        .for_each(|step| saved_events(step, kept, true, events));
                }
                if with_head {
                    self.model
                        .head
                        .iter()
                        .for_each(|step| saved_events(step, |_| true, true, events));
                }
            }
            PassType::Backward | PassType::BackwardInput => {
                let split = pass.work == PassType::BackwardInput;
                if with_head {
                    steps_backward(&self.model.head, |_| true, false, events);
                }
                self.blocks_backward(places, split, events);
                embedding
                    .filter(|_| !split)
                    .for_each(|step| saved_events(step, |_| true, false, events));
            }
            PassType::BackwardWeight => {
                for place in places {
                    let waits = |tensor: &Tensor| {
                        place.covered != Covered::No || survives(self.run, tensor)
                    };
                    self.steps(place.kind)
                        .iter()
                        .for_each(|step| saved_events(step, waits, false, events));
                }
                embedding.for_each(|step| saved_events(step, |_| true, false, events));
            }
        }
    }

    fn blocks_backward(&self, places: &[Place], split: bool, events: &mut Vec<MemoryEvent>) {
        let mut end = places.len();
        while end > 0 {
            let (first, recomputed) = schedule::group(places, end);
            let group = places.get(first..end).unwrap_or_default();
            for place in group.iter().filter(|_| recomputed) {
                let again = |tensor: &Tensor| place.covered == Covered::With || !is_input(tensor);
                self.steps(place.kind)
                    .iter()
                    .for_each(|step| saved_events(step, again, true, events));
            }
            for place in group.iter().rev() {
                steps_backward(
                    self.steps(place.kind),
                    |tensor| recomputed || survives(self.run, tensor),
                    split,
                    events,
                );
            }
            end = first;
        }
    }
}

/// Backward through some operations; modules of which something was dropped are brought back when
/// backward reaches them.
///
/// With `split` what was there stays for the weights' gradients.
fn steps_backward(
    steps: &[RankOp],
    there: impl Fn(&Tensor) -> bool,
    split: bool,
    events: &mut Vec<MemoryEvent>,
) {
    let mut back = Module::Rest;
    for (place, step) in steps.iter().enumerate().rev() {
        if step.module != back {
            back = step.module;
            for again in steps
                .iter()
                .take(place + 1)
                .filter(|again| again.module == back && back != Module::Rest)
            {
                saved_events(again, |tensor| !there(tensor), true, events);
            }
        }
        workspace_events(step, true, events);
        workspace_events(step, false, events);
        saved_events(step, |tensor| !split || !there(tensor), false, events);
    }
}

fn saved_events(
    step: &RankOp,
    kept: impl Fn(&Tensor) -> bool,
    taken: bool,
    events: &mut Vec<MemoryEvent>,
) {
    tensor_events(step, |tensor| tensor.role == Role::Saved && kept(tensor), taken, events);
}

fn workspace_events(step: &RankOp, taken: bool, events: &mut Vec<MemoryEvent>) {
    tensor_events(step, |tensor| tensor.role == Role::Workspace, taken, events);
}

fn tensor_events(
    step: &RankOp,
    which: impl Fn(&Tensor) -> bool,
    taken: bool,
    events: &mut Vec<MemoryEvent>,
) {
    let tensors = step.op.tensors.iter().filter(|tensor| which(tensor));
    events.extend(tensors.map(|tensor| {
        let bytes = i128::from(tensor.bytes().0);
        MemoryEvent {
            op: step.op.name,
            name: tensor.name,
            bytes: if taken { bytes } else { -bytes },
        }
    }));
}
