//! The weight of a rank's operations in bytes: how much of them is in flight, and how much backward
//! of each needs.

use super::{At, Kind, Sizes, is_input, lines, survives};
use crate::config::TrainingRun;
use crate::ops::megatron::{Module, RankModel, RankOp};
use crate::ops::{Role, Tensor};
use crate::units::Bytes;

/// Bytes saved in forward, and bytes alive for a while.
pub(super) type Alike = [Bytes; 2];

/// Some operations that follow on each other, in bytes.
#[derive(Clone, Default)]
pub(super) struct Piece {
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

impl Piece {
    pub fn of(steps: &[RankOp], run: &TrainingRun) -> Self {
        let weighed = |step: &RankOp| {
            let sum = |role: Role, counts: &dyn Fn(&Tensor) -> bool| {
                let tensors =
                    step.op.tensors.iter().filter(|tensor| tensor.role == role && counts(tensor));
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
        Self { steps: steps.iter().map(weighed).collect(), scores: lines::scores(steps) }
    }

    /// Several as one.
    pub fn joined<'a>(pieces: impl Iterator<Item = &'a Self>) -> Self {
        pieces.fold(Self::default(), |mut all, piece| {
            all.steps.extend_from_slice(&piece.steps);
            all.scores += piece.scores;
            all
        })
    }

    fn sum(&self, of: fn(&Weighed) -> Bytes) -> Bytes {
        self.steps.iter().map(of).sum()
    }

    /// Backward of each operation.
    fn moments(&self) -> Vec<Moment> {
        let (mut kept, mut others) = (Bytes::ZERO, Bytes::ZERO);
        let at = |(place, step): (usize, &Weighed)| {
            kept += step.kept;
            others += step.others;
            let same =
                self.steps.iter().take(place + 1).filter(|other| other.module == step.module);
            let dropped: Bytes = if step.module == Module::Rest {
                Bytes::ZERO
            } else {
                same.map(|other| other.dropped).sum()
            };
            Moment {
                kept: [kept, dropped + step.flowing],
                recomputed: [Bytes::ZERO, others + step.flowing],
                waiting: [Bytes::ZERO, dropped + step.flowing],
                nothing: [Bytes::ZERO, step.flowing],
            }
        };
        self.steps.iter().enumerate().map(at).collect()
    }
}

/// The need of backward of an operation; see `Scope::inside`, whose sums these are.
#[derive(Clone, Copy)]
struct Moment {
    /// Where its block was kept, or outside blocks.
    kept: Alike,
    /// Where it was recomputed.
    recomputed: Alike,
    /// Where what was kept waits for the weights' gradients and is counted there.
    waiting: Alike,
    /// Where what was brought back waits as well.
    nothing: Alike,
}

/// The weight of a rank's operations.
pub(super) struct Weight {
    /// Bytes in flight.
    pub sizes: Sizes<Bytes>,
    /// Scores of a block.
    pub scores: Bytes,
    head: Vec<Moment>,
    blocks: [Vec<Moment>; 2],
}

impl Weight {
    /// The weight of both ends and of one block of each kind.
    pub fn of(embedding: &Piece, blocks: [&Piece; 2], head: &Piece) -> Self {
        let [[dense, experts], [dense_input, experts_input], [dense_others, experts_others]] =
            [|step: &Weighed| step.kept, |step: &Weighed| step.input, |step: &Weighed| step.others]
                .map(|of: fn(&Weighed) -> Bytes| blocks.map(|block| block.sum(of)));
        let [embedding, head_saved] =
            [embedding, head].map(|end| end.sum(|step| step.kept + step.dropped));
        let each = [
            dense,
            experts,
            dense_input,
            experts_input,
            dense_others,
            experts_others,
            embedding,
            head_saved,
        ];
        let [dense, _] = blocks;
        Self {
            sizes: Sizes(each),
            scores: dense.scores,
            head: head.moments(),
            blocks: blocks.map(Piece::moments),
        }
    }

    /// The weight of a rank's model.
    pub fn of_model(model: &RankModel, run: &TrainingRun) -> Self {
        let [embedding, dense, experts, head] =
            [&model.embedding, &model.dense, &model.experts, &model.head]
                .map(|steps| Piece::of(steps, run));
        Self::of(&embedding, [&dense, &experts], &head)
    }

    /// The moments of a step, in its order.
    pub fn places(&self) -> impl Iterator<Item = At> {
        let in_block = |(kind, steps): (Kind, usize)| {
            let ways = move |place| {
                [(false, false), (true, false), (false, true), (true, true)]
                    .map(|(recomputed, split)| At::Block { kind, recomputed, split, place })
            };
            (0..steps).rev().flat_map(ways)
        };
        let blocks = Kind::ALL.into_iter().zip(self.blocks.each_ref().map(Vec::len));
        (0..self.head.len()).rev().map(At::Head).chain(blocks.flat_map(in_block)).chain([At::Step])
    }

    /// Bytes that backward needs at a moment, beside those in flight.
    pub fn inside(&self, at: At) -> Alike {
        let [dense, experts] = &self.blocks;
        let (moments, place) = match at {
            At::Forward | At::Step => return Alike::default(),
            At::Head(place) => (&self.head, place),
            At::Block { kind: Kind::Dense, place, .. } => (dense, place),
            At::Block { kind: Kind::Experts, place, .. } => (experts, place),
        };
        let inside = |moment: &Moment| match at {
            At::Block { recomputed: true, split: false, .. } => moment.recomputed,
            At::Block { recomputed: false, split: true, .. } => moment.waiting,
            At::Block { recomputed: true, split: true, .. } => moment.nothing,
            At::Forward | At::Step | At::Head(_) | At::Block { .. } => moment.kept,
        };
        moments.get(place).map_or_else(Alike::default, inside)
    }
}
