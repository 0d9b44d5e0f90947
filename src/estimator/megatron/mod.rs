//! One rank under Megatron-LM: its states, the activations it keeps in flight, and the moment at
//! which it holds most.
//!
//! Main gradients, master weights and moments exist from the start to the end of training. The
//! stage's forward and backward passes are played in their order, block by block; inside a block
//! backward goes from operation to operation.

mod alive;
use alive::{Alive, Entry, is_input, survives};
mod events;
mod fsdp;
mod lines;
mod many;
mod order;
pub(super) mod schedule;
mod states;
mod weight;

use std::ops::{Add, Mul};

use super::ledger::{LineItem, sort_by_kind};
use super::{Moment, host, overhead};
use crate::config::{Job, ParallelLayout, Recompute, TrainingRun};
use crate::ops::megatron::{RankModel, RankOp, rank_model};
use crate::units::Bytes;
pub(super) use events::events;
pub(super) use many::{Many, of_pipeline};
pub(super) use order::events as ordered;
use schedule::{Held, Kind, Stage, Where};
use weight::Weight;

/// A moment of a stage's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Forward has ended for all micro-batches in flight: everything that is saved.
    Forward,
    /// In the head: backward of that operation of it, or the loss's forward, which holds as much.
    Head(usize),
    /// Backward of that operation of a block.
    Block { kind: Kind, recomputed: bool, split: bool, place: usize },
    /// Backward has ended and the optimizer steps.
    Step,
}

impl At {
    /// Where in the schedule it is.
    const fn place(self) -> Where {
        match self {
            Self::Head(_) => Where::Head,
            Self::Block { kind, recomputed, split, .. } => Where::Block { kind, recomputed, split },
            Self::Forward | Self::Step => Where::Forward,
        }
    }
}

/// How many numbers [`slot`] gives to places in the schedule.
const SLOTS: usize = 9;

/// A number for each place in the schedule at which a moment can be; [`SLOTS`] for none.
const fn slot(at: Where) -> usize {
    match at {
        Where::Head => 0,
        Where::Block { kind, recomputed, split } => {
            1 + (if matches!(kind, Kind::Experts) { 4 } else { 0 })
                + (if recomputed { 2 } else { 0 })
                + (if split { 1 } else { 0 })
        }
        Where::Forward => SLOTS,
    }
}

/// One rank of a stage.
struct Scope<'a> {
    job: &'a Job,
    run: &'a TrainingRun,
    model: &'a RankModel,
    stage: Stage,
}

/// The highest moment of a job's most loaded stage.
pub(super) struct Peak {
    /// Every line alive then, overheads outside PyTorch's allocator included.
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
    let weight = Weight::of_model(&model, run);
    let stages = only
        .map_or_else(|| schedule::stages(job, run), |index| vec![schedule::stage(job, run, index)]);
    let mut moments: Vec<Moment> = Vec::with_capacity(4);
    let mut highest: Option<(Scope, Held, At, Bytes)> = None;
    for stage in stages {
        let scope = Scope { job, run, model: &model, stage };
        let (held, at, total) = scope.highest(&weight, &mut moments);
        if highest.as_ref().is_none_or(|highest| total > highest.3) {
            highest = Some((scope, held, at, total));
        }
    }
    let Some((scope, held, at, _)) = highest else {
        return Peak { lines: Vec::new(), name: "when the optimizer steps", stage: 0, moments };
    };
    let mut lines = scope.resident(detail);
    lines::activations(&scope.alive(held, at), detail, &mut lines);
    lines.extend(fsdp::Moving::of(&scope, &weight.sizes.whole()).lines(&scope, at));
    let before = total(&lines);
    overhead::add(job, &mut lines);
    let overheads = total(&lines).saturating_sub(before);
    for moment in &mut moments {
        moment.total += overheads;
    }
    sort_by_kind(&mut lines);
    Peak { lines, name: scope.name(at), stage: scope.stage.index, moments }
}

fn total(lines: &[LineItem]) -> Bytes {
    lines.iter().map(|line| line.bytes).sum()
}

/// Lines that one stage holds when forward has ended: states, buffers, and everything saved.
pub(super) fn after_forward(job: &Job, run: &TrainingRun, stage: u64) -> Vec<LineItem> {
    let model = rank_model(job, run);
    let scope = Scope { job, run, model: &model, stage: schedule::stage(job, run, stage) };
    let mut all = Held::default();
    scope.play(|held, at| {
        if at == Where::Forward {
            all = on_device(job, held);
        }
    });
    let mut lines = scope.resident(true);
    lines::activations(&scope.alive(all, At::Forward), true, &mut lines);
    lines
}

/// Parameters that learn, of the whole model: each adapter once.
pub(super) fn trainable(job: &Job, run: &TrainingRun) -> u64 {
    let job = job.with_layout(ParallelLayout::SINGLE);
    let model = rank_model(&job, run);
    let scope = Scope { job: &job, run, model: &model, stage: schedule::stage(&job, run, 0) };
    let held = states::held(&scope);
    held.iter().filter(|held| held.learns).map(states::Held::elements).fold(0, u64::saturating_add)
}

/// Bytes of activations of a stage that wait in host memory at most.
pub(super) fn away(job: &Job, run: &TrainingRun, stage: u64) -> Bytes {
    let model = rank_model(job, run);
    let scope = Scope { job, run, model: &model, stage: schedule::stage(job, run, stage) };
    let (sizes, mut most) = (Weight::of_model(&model, run).sizes, Bytes::ZERO);
    scope.play(|held, _| {
        most = most.max(sizes.of(&held).saturating_sub(sizes.of(&on_device(job, held))));
    });
    most
}

/// The size of each thing that [`Held`] counts: of blocks of both kinds kept whole, their inputs
/// and what is brought back of them, of the embedding and the head.
#[derive(Clone, Copy)]
struct Sizes<T>([T; 8]);

impl<T: Copy + Add<Output = T> + Mul<u64, Output = T>> Sizes<T> {
    fn of(&self, held: &Held) -> T {
        let [saved, brought_back] = self.each(held);
        saved + brought_back
    }

    /// Bytes that were saved in forward, and bytes that recomputation brought back.
    fn each(&self, held: &Held) -> [T; 2] {
        let [
            dense,
            experts,
            dense_input,
            experts_input,
            dense_again,
            experts_again,
            embedding,
            head,
        ] = self.0;
        let Held { whole, inputs, again, again_inputs, embeddings, heads } = *held;
        let blocks = dense * whole.dense + experts * whole.experts;
        let saved = blocks + dense_input * inputs.dense + experts_input * inputs.experts;
        let brought_back = dense_again * again.dense + experts_again * again.experts;
        [
            saved + embedding * embeddings + head * heads,
            brought_back + dense_input * again_inputs.dense + experts_input * again_inputs.experts,
        ]
    }

    /// Bytes that a block saves, by kind.
    const fn whole(&self) -> [T; 2] {
        let [dense, experts, ..] = self.0;
        [dense, experts]
    }
}

impl<'a> Scope<'a> {
    /// The highest moment of this stage; adds the highest of each name to `moments`.
    fn highest(&self, weight: &Weight, moments: &mut Vec<Moment>) -> (Held, At, Bytes) {
        let resident = total(&self.resident(false));
        let (sizes, moving) = (weight.sizes, fsdp::Moving::of(self, &weight.sizes.whole()));
        // Where each moment's stage of the step holds most beside it.
        let mut most = [(Held::default(), None::<Bytes>); SLOTS];
        self.play(|held, at| {
            let held = on_device(self.job, held);
            let bytes = sizes.of(&held);
            if let Some(most) = most.get_mut(slot(at))
                && most.1.is_none_or(|most| bytes > most)
            {
                *most = (held, Some(bytes));
            }
        });
        let mut best = (Held::default(), At::Step, resident);
        let moved = |at| if moving.moves() { moving.bytes(self.run, at) } else { Bytes::ZERO };
        for at in weight.places() {
            // After backward nothing is in flight; what the schedule never comes to is no moment.
            let nothing = (Held::default(), Some(Bytes::ZERO));
            let (held, Some(beside)) = most.get(slot(at.place())).copied().unwrap_or(nothing)
            else {
                continue;
            };
            let total = resident + beside + weight.inside(at).into_iter().sum() + moved(at);
            let name = self.name(at);
            match moments.iter_mut().find(|moment| moment.name == name) {
                Some(moment) => moment.total = moment.total.max(total),
                None => moments.push(Moment { name, total }),
            }
            if total > best.2 {
                best = (held, at, total);
            }
        }
        best
    }

    fn play(&self, show: impl FnMut(Held, Where)) {
        schedule::play(
            &self.stage,
            &schedule::passes(&self.job.pipeline(), self.stage.index),
            show,
        );
    }

    fn name(&self, at: At) -> &'static str {
        match at {
            At::Head(place) if place + 1 == self.model.head.len() => "when the loss is computed",
            At::Head(_) => "when backward goes through the output head",
            At::Block { recomputed: true, .. } => "when backward recomputes the last block",
            At::Block { .. } if self.run.recompute == Recompute::Selective => {
                "when backward recomputes the last block"
            }
            At::Block { .. } => "when backward enters the last block",
            At::Forward => "when forward has ended",
            At::Step => "when the optimizer steps",
        }
    }

    /// The operations of a block of that kind.
    fn steps(&self, kind: Kind) -> &'a [RankOp] {
        match kind {
            Kind::Dense => &self.model.dense,
            Kind::Experts => &self.model.experts,
        }
    }

    /// Lines that are alive throughout the step: states and buffers.
    fn resident(&self, detail: bool) -> Vec<LineItem> {
        let mut lines = self.states(detail);
        lines::buffers(self, &mut lines);
        lines
    }

    /// Weights, gradients and optimizer states on the device.
    fn states(&self, detail: bool) -> Vec<LineItem> {
        let mut lines = Vec::with_capacity(16);
        states::add(self, detail, &mut lines);
        lines.retain(|line| !host::is_away(self.job, line.kind));
        lines
    }
}

/// The part of `held` that is on the device: with offloaded activations one block of each kind
/// stays beside the one that backward is in.
fn on_device(job: &Job, held: Held) -> Held {
    if !job.layout().offload.activations {
        return held;
    }
    let one = |blocks: schedule::PerKind| schedule::PerKind {
        dense: blocks.dense.min(1),
        experts: blocks.experts.min(1),
    };
    Held { whole: one(held.whole), inputs: one(held.inputs), ..held }
}
