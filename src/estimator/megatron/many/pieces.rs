//! Parts of a rank's operations, weighed once for all layouts that agree in what a part depends on.

use super::super::{Kind, Sizes, is_input, survives};
use super::frame::Alike;
use crate::config::{Job, Recompute, TrainingRun};
use crate::estimator::law::Memo;
use crate::estimator::megatron::lines::scores;
use crate::ops::megatron::{Module, Part, PartKey, Step};
use crate::ops::{Role, Tensor};
use crate::units::Bytes;

/// The parts weighed so far.
#[derive(Default)]
pub(super) struct Pieces {
    /// By whether selective recomputation drops something.
    parts: Memo<(PartKey, bool), Piece>,
}

/// A part.
#[derive(Default)]
struct Piece {
    steps: Vec<Weighed>,
    scores: Bytes,
}

/// An operation in bytes.
#[derive(Clone, Copy)]
struct Weighed {
    module: Module,
    /// Saved in forward and kept.
    kept: Bytes,
    /// Saved in forward and dropped by selective recomputation.
    dropped: Bytes,
    /// Saved in forward, of these, as a block's input, and otherwise.
    input: Bytes,
    others: Bytes,
    /// Alive while its backward runs.
    flowing: Bytes,
}

/// What a rank's operations weigh.
#[derive(Default)]
pub(super) struct Weight {
    embedding: Bytes,
    head_saved: Bytes,
    /// By kind: kept, input, all but the input.
    blocks: [[Bytes; 3]; 2],
    pub scores: Bytes,
    pub head: Vec<Moment>,
    places: [Vec<Moment>; 2],
}

/// What backward of an operation needs.
#[derive(Clone, Copy, Default)]
pub(super) struct Moment {
    /// Where its block was kept, or outside blocks.
    pub kept: Alike,
    /// Where it was recomputed.
    pub recomputed: Alike,
    /// Where what was kept waits for the weights' gradients and is counted there.
    pub waiting: Alike,
    /// Where what was brought back waits as well.
    pub nothing: Alike,
}

impl Pieces {
    /// The operations of a rank with as many sequences as the job has.
    pub fn weight(&mut self, job: &Job, run: &TrainingRun) -> Weight {
        let selective = run.recompute == Recompute::Selective;
        let parts = &mut self.parts;
        let mut place = |part: Part| parts.place((part.key(job), selective), || Piece::of(&part.steps(job, run), run));
        let [embedding, head] = [Part::Embedding, Part::Head].map(&mut place);
        let (dense, experts) = (Part::DENSE.map(&mut place), Part::EXPERTS.map(&mut place));
        let experts = if job.model().moe.is_some() { &experts[..] } else { &[] };
        let steps = |places: &[usize]| -> Vec<Weighed> {
            places.iter().filter_map(|place| parts.at(*place)).flat_map(|piece| piece.steps.iter().copied()).collect()
        };
        let saved = |steps: &[Weighed]| steps.iter().map(|step| step.kept + step.dropped).sum();
        let (head, blocks) = (steps(&[head]), [&dense[..], experts].map(steps));
        Weight {
            embedding: saved(&steps(&[embedding])),
            head_saved: saved(&head),
            blocks: blocks.each_ref().map(|steps| {
                let sum = |of: fn(&Weighed) -> Bytes| steps.iter().map(of).sum();
                [sum(|step| step.kept), sum(|step| step.input), sum(|step| step.others)]
            }),
            scores: dense.iter().filter_map(|place| parts.at(*place)).map(|piece| piece.scores).sum(),
            head: moments(&head),
            places: blocks.each_ref().map(|steps| moments(steps)),
        }
    }
}

impl Piece {
    fn of(steps: &[Step], run: &TrainingRun) -> Self {
        let weighed = |step: &Step| {
            let sum = |role: Role, counts: &dyn Fn(&Tensor) -> bool| {
                let tensors = step.op.tensors.iter().filter(|tensor| tensor.role == role && counts(tensor));
                tensors.map(Tensor::bytes).sum()
            };
            Weighed {
                module: step.module,
                kept: sum(Role::Saved, &|tensor| survives(run, tensor)),
                dropped: sum(Role::Saved, &|tensor| !survives(run, tensor)),
                input: sum(Role::Saved, &is_input),
                others: sum(Role::Saved, &|tensor| !is_input(tensor)),
                flowing: sum(Role::Workspace, &|_| true),
            }
        };
        Self { steps: steps.iter().map(weighed).collect(), scores: scores(steps) }
    }
}

impl Weight {
    /// The places of a block of that kind.
    pub fn of(&self, kind: Kind) -> &[Moment] {
        let [dense, experts] = &self.places;
        match kind {
            Kind::Dense => dense,
            Kind::Experts => experts,
        }
    }

    /// Sizes of what is in flight.
    pub fn sizes(&self) -> Sizes {
        let by = |which: fn(&[Bytes; 3]) -> Bytes| self.blocks.each_ref().map(which);
        Sizes {
            whole: by(|[kept, _, _]| *kept),
            input: by(|[_, input, _]| *input),
            again: by(|[_, _, others]| *others),
            embedding: self.embedding,
            head: self.head_saved,
        }
    }
}

/// Backward of each of some operations that follow on each other; see `Scope::inside`, whose sums these are.
fn moments(steps: &[Weighed]) -> Vec<Moment> {
    let (mut kept, mut others) = (Bytes::ZERO, Bytes::ZERO);
    let at = |(place, step): (usize, &Weighed)| {
        kept += step.kept;
        others += step.others;
        let same = steps.iter().take(place + 1).filter(|other| other.module == step.module);
        let dropped: Bytes = if step.module == Module::Rest { Bytes::ZERO } else { same.map(|other| other.dropped).sum() };
        Moment {
            kept: [kept, dropped + step.flowing],
            recomputed: [Bytes::ZERO, others + step.flowing],
            waiting: [Bytes::ZERO, dropped + step.flowing],
            nothing: [Bytes::ZERO, step.flowing],
        }
    };
    steps.iter().enumerate().map(at).collect()
}
