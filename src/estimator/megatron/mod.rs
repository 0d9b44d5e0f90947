//! One rank under Megatron-LM: its states, what it keeps in flight, and the moment at which it holds most.
//!
//! Main gradients, master weights and moments exist from the start to the end of training, so the peak lies where activations are
//! most: in the loss, in the output layer's backward, or in the first block that backward enters.

mod lines;
mod schedule;
mod states;

use super::ledger::LineItem;
use super::{Moment, overhead};
use crate::config::{Job, Recompute, TrainingRun};
use crate::ops::megatron::{Module, RankModel, Step, rank_model};
use crate::ops::{Kept, Role, Tensor};
use crate::units::Bytes;
use schedule::{Kind, Stage};

/// A moment of a stage's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Forward has ended for all micro-batches in flight: everything that is saved.
    Forward,
    /// In the head: backward of that operation of it, or the loss's forward, which holds as much.
    Head(usize),
    /// Backward of that operation of the first block that backward enters.
    Block(usize),
    /// Backward is through, the optimizer steps.
    Step,
}

/// One rank of a stage.
struct Scope<'a> {
    job: &'a Job,
    run: &'a TrainingRun,
    model: &'a RankModel,
    stage: Stage,
}

/// Why a tensor is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alive {
    /// Saved in forward.
    Saved,
    /// Brought back by recomputation.
    Recomputed,
    /// Flowing back right now.
    Flowing,
}

/// Some tensors of one kind that are alive.
struct Entry<'a> {
    step: &'a Step,
    tensor: &'a Tensor,
    count: u64,
    why: Alive,
}

impl Entry<'_> {
    fn bytes(&self) -> Bytes {
        self.tensor.bytes() * self.count
    }
}

/// The highest moment of a job's most loaded stage.
pub(super) struct Peak {
    /// Every line alive then, without overheads outside PyTorch's allocator.
    pub lines: Vec<LineItem>,
    /// Its name.
    pub name: &'static str,
    /// Its stage.
    pub stage: u64,
    /// All moments compared.
    pub moments: Vec<Moment>,
}

/// The peak of a job, over all stages or on one.
pub(super) fn peak(job: &Job, run: &TrainingRun, only: Option<u64>, detail: bool) -> Peak {
    let model = rank_model(job, run);
    let stages = only.map_or_else(|| schedule::stages(job, run), |index| vec![schedule::stage(job, run, index)]);
    let mut moments: Vec<Moment> = Vec::new();
    let mut highest: Option<(Scope, At, Bytes)> = None;
    for stage in stages {
        let scope = Scope { job, run, model: &model, stage };
        let resident: Bytes = scope.resident(false).iter().map(|line| line.bytes).sum();
        for at in scope.moments() {
            let total = resident + scope.alive(at).iter().map(Entry::bytes).sum();
            let name = scope.name(at);
            match moments.last_mut() {
                Some(last) if last.name == name => last.total = last.total.max(total),
                _ => moments.push(Moment { name, total }),
            }
            if highest.as_ref().is_none_or(|highest| total > highest.2) {
                highest = Some((Scope { job, run, model: &model, stage }, at, total));
            }
        }
    }
    let Some((scope, at, _)) = highest else {
        return Peak { lines: Vec::new(), name: "when the optimizer steps", stage: 0, moments };
    };
    let mut lines = scope.resident(detail);
    lines::activations(&scope, at, detail, &mut lines);
    overhead::add(job, &mut lines);
    lines.sort_by_key(|line| line.kind);
    Peak { lines, name: scope.name(at), stage: scope.stage.index, moments }
}

/// What one stage holds when forward has ended: states, buffers, and everything saved.
pub(super) fn after_forward(job: &Job, run: &TrainingRun, stage: u64) -> Vec<LineItem> {
    let model = rank_model(job, run);
    let scope = Scope { job, run, model: &model, stage: schedule::stage(job, run, stage) };
    let mut lines = scope.resident(true);
    lines::activations(&scope, At::Forward, true, &mut lines);
    lines
}

impl<'a> Scope<'a> {
    /// The moments that can be the highest, in the order of the step.
    fn moments(&self) -> Vec<At> {
        let head = if self.stage.head { self.model.head.len() } else { 0 };
        let block = self.steps(self.stage.entered).len();
        let backward = (0..head).rev().map(At::Head).chain((0..block).rev().map(At::Block));
        backward.chain([At::Step]).collect()
    }

    fn name(&self, at: At) -> &'static str {
        match at {
            At::Head(place) if place + 1 == self.model.head.len() => "when the loss is computed",
            At::Head(_) => "when backward goes through the output head",
            At::Block(_) if self.run.recompute == Recompute::None => "when backward enters the last block",
            At::Block(_) => "when backward recomputes the last block",
            At::Forward => "when forward has ended",
            At::Step => "when the optimizer steps",
        }
    }

    /// The operations of a block of that kind.
    fn steps(&self, kind: Kind) -> &'a [Step] {
        match kind {
            Kind::Dense => &self.model.dense,
            Kind::Experts => &self.model.experts,
        }
    }

    /// What is alive throughout the step.
    fn resident(&self, detail: bool) -> Vec<LineItem> {
        let mut lines = Vec::with_capacity(16);
        states::add(self, detail, &mut lines);
        lines::buffers(self, &mut lines);
        lines
    }

    /// The tensors that are alive at a moment beside what is resident.
    fn alive(&self, at: At) -> Vec<Entry<'a>> {
        let mut found = Vec::with_capacity(64);
        if at == At::Step {
            return found;
        }
        saved(&self.model.embedding, self.stage.embeddings, |_| true, &mut found);
        let survives = |tensor: &Tensor| !(self.run.recompute == Recompute::Selective && tensor.kept == Kept::AttentionCore);
        for kind in [Kind::Dense, Kind::Experts] {
            // The block that backward is in is walked operation by operation below.
            let inside = matches!(at, At::Block(_)) && kind == self.stage.entered;
            let whole = self.stage.whole.of(kind);
            let count = if inside && self.stage.recomputed == 0 { whole.saturating_sub(1) } else { whole };
            saved(self.steps(kind), count, survives, &mut found);
            saved(self.steps(kind), self.stage.inputs.of(kind), |tensor| tensor.kept == Kept::BlockInput, &mut found);
        }
        match at {
            At::Head(place) => walk(&self.model.head, place, Alive::Saved, &mut found),
            At::Block(place) => self.inside_block(place, &mut found),
            At::Forward if self.stage.head => saved(&self.model.head, 1, |_| true, &mut found),
            At::Forward | At::Step => {}
        }
        found
    }

    /// The block that backward is in: what its remaining operations saved or brought back, and what flows back.
    fn inside_block(&self, place: usize, found: &mut Vec<Entry<'a>>) {
        let steps = self.steps(self.stage.entered);
        if self.stage.recomputed > 0 {
            let again = |tensor: &Tensor| tensor.kept != Kept::BlockInput;
            let others = self.stage.recomputed - 1;
            recomputed(steps, others, found);
            for step in steps.iter().take(place + 1) {
                push(step, 1, Role::Saved, again, Alive::Recomputed, found);
            }
        } else {
            let module = steps.get(place).map_or(Module::Rest, |step| step.module);
            for step in steps.iter().take(place + 1) {
                let selective = self.run.recompute == Recompute::Selective;
                let kept = |tensor: &Tensor| !(selective && tensor.kept == Kept::AttentionCore);
                push(step, 1, Role::Saved, kept, Alive::Saved, found);
                if step.module == module && module != Module::Rest {
                    push(step, 1, Role::Saved, |tensor| !kept(tensor), Alive::Recomputed, found);
                }
            }
        }
        if let Some(step) = steps.get(place) {
            push(step, 1, Role::Workspace, |_| true, Alive::Flowing, found);
        }
    }
}

/// Saved tensors of some operations, `count` times.
fn saved<'a>(steps: &'a [Step], count: u64, kept: impl Fn(&Tensor) -> bool, found: &mut Vec<Entry<'a>>) {
    for step in steps {
        push(step, count, Role::Saved, &kept, Alive::Saved, found);
    }
}

/// Whole blocks brought back together with the one backward is in.
fn recomputed<'a>(steps: &'a [Step], count: u64, found: &mut Vec<Entry<'a>>) {
    for step in steps {
        push(step, count, Role::Saved, |_| true, Alive::Recomputed, found);
    }
}

/// What is left of some operations when backward is in the one at `place`.
fn walk<'a>(steps: &'a [Step], place: usize, why: Alive, found: &mut Vec<Entry<'a>>) {
    for step in steps.iter().take(place + 1) {
        push(step, 1, Role::Saved, |_| true, why, found);
    }
    if let Some(step) = steps.get(place) {
        push(step, 1, Role::Workspace, |_| true, Alive::Flowing, found);
    }
}

fn push<'a>(step: &'a Step, count: u64, role: Role, kept: impl Fn(&Tensor) -> bool, why: Alive, found: &mut Vec<Entry<'a>>) {
    if count > 0 {
        let tensors = step.op.tensors.iter().filter(|tensor| tensor.role == role && kept(tensor));
        found.extend(tensors.map(|tensor| Entry { step, tensor, count, why }));
    }
}
