//! Activations that every stage of a pipeline has in flight, and the memory it needs beside them.

use std::cmp::Reverse;

use super::super::fsdp::{Moving, Weights, moves};
use super::super::lines::{Buffers, Content, Stands};
use super::super::schedule::{self, Held, PerKind, Stage};
use super::super::weight::Alike;
use super::super::{At, Kind, SLOTS, on_device, slot};
use super::frame::{Frame, Line, Tops};
use super::{Kinds, States};
use crate::config::{Job, PassType, TrainingRun};
use crate::estimator::law::{Highest, Memo, Top, bytes};
use crate::estimator::ledger::{MemoryKind, first_over};
use crate::units::Bytes;

/// One stage of a pipeline, and all that may be most in flight at each place of its schedule.
pub(super) struct Staged {
    pub stage: Stage,
    pub sort: Sort,
    /// The sort's place among all.
    pub place: usize,
    most: [Vec<Held>; SLOTS],
    /// Activations that one micro-batch of the stage's first chunk holds by itself: no schedule
    /// holds less.
    least: [Option<Held>; SLOTS],
}

/// Properties that the parameters and buffers of a stage depend on; stages with equal ones share
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sort {
    layers: PerKind,
    embedding: bool,
    head: bool,
    messages: u64,
}

/// Memory that a stage may need in backward, beside states, gathered weights and gradients, with
/// any number of sequences.
#[derive(Default)]
pub(super) struct Needs {
    /// In the head, and in blocks: all that may be highest there.
    moments: [Tops; 2],
    /// With one micro-batch of its first chunk alone, whatever the schedule.
    alone: Highest<2, ()>,
    /// The candidates for the most activations in flight at the place at hand.
    in_flight: Tops,
}

/// Memory that a stage needs with one number of sequences.
#[derive(Clone, Copy)]
pub(super) struct Needed {
    buffers: [Bytes; 2],
    /// Bytes that a block saves, by kind.
    saved: [Bytes; 2],
    /// The highest moment in the head, and in blocks.
    moments: [Option<Moment>; 2],
    /// The higher of these.
    moment: Option<Moment>,
    /// All bytes that the stage needs.
    total: Bytes,
    /// No more sequences, and no fewer micro-batches of them, need less.
    least: Bytes,
}

/// A moment of backward: how early it comes, and the memory it needs.
#[derive(Clone, Copy)]
struct Moment {
    order: usize,
    bytes: Alike,
}

impl Moment {
    /// The higher of the head's and the blocks', of equal ones the earlier; what is no higher than
    /// the optimizer's step, which comes before all, is none.
    fn higher(moments: [Option<Self>; 2]) -> Option<Self> {
        let rank = |moment: &Self| (sum(&moment.bytes), Reverse(moment.order));
        let highest = moments
            .into_iter()
            .flatten()
            .reduce(|head, block| if rank(&block) > rank(&head) { block } else { head });
        highest.filter(|moment| sum(&moment.bytes) > Bytes::ZERO)
    }
}

fn sum([saved, passing]: &Alike) -> Bytes {
    *saved + *passing
}

/// The stages that can hold most.
pub(super) fn staged(job: &Job, run: &TrainingRun, sorts: &mut Memo<Sort, ()>) -> Vec<Staged> {
    let staged = |stage: Stage| {
        let mut most: [Vec<Held>; SLOTS] = Default::default();
        schedule::play(&stage, &schedule::passes(&job.pipeline(), stage.index), |held, at| {
            let held = on_device(job, held);
            if let Some(most) = most.get_mut(slot(at))
                && !most.iter().any(|known| known.covers(&held))
            {
                most.retain(|known| !held.covers(known));
                most.push(held);
            }
        });
        let mut least = [None; SLOTS];
        let work = if job.pipeline().schedule.facts().splits_backward {
            PassType::BackwardInput
        } else {
            PassType::Backward
        };
        let alone =
            [PassType::Forward, work].map(|work| schedule::Pass { chunk: 0, work, times: 1 });
        schedule::play(&stage, &alone, |held, at| {
            if let Some(least) = least.get_mut(slot(at)) {
                least.get_or_insert(on_device(job, held));
            }
        });
        let sort = Sort {
            layers: stage.layers(),
            embedding: stage.embeds(),
            head: stage.ends(),
            messages: stage.messages,
        };
        Staged { stage, sort, place: sorts.place(sort, || ()), most, least }
    };
    schedule::stages(job, run).into_iter().map(staged).collect()
}

impl Needs {
    /// Joins what a frame needs with what is in flight at the places that a stage's schedule comes
    /// to.
    pub fn join(&mut self, frame: &Frame, staged: &Staged) {
        let Self { moments: [head, blocks], alone, in_flight } = self;
        head.clear();
        blocks.clear();
        alone.clear();
        let places = frame.tops.iter().zip(&staged.most).zip(&staged.least);
        for (slot, ((tops, most), least)) in places.enumerate() {
            let moments = if slot == 0 { &mut *head } else { &mut *blocks };
            // Activations in flight come in no order, so of equally large ones the first is kept.
            in_flight.clear();
            for held in most {
                let holds @ [kept, brought_back] = frame.sizes.each(held);
                in_flight.keep(Top { height: kept + brought_back, order: 0, holds });
            }
            for top in tops.iter() {
                let [saved, passing] = top.holds;
                for Top { height, holds: [kept, brought_back], .. } in in_flight.iter() {
                    let holds = [saved + *kept, passing + *brought_back];
                    moments.keep(Top { height: top.height + *height, order: top.order, holds });
                }
                if let Some(least) = least {
                    alone.keep(Top {
                        height: top.height + frame.sizes.of(least),
                        order: 0,
                        holds: (),
                    });
                }
            }
        }
    }

    /// The need of a stage with as many sequences as the job has.
    pub fn with(
        &self,
        (job, run): (&Job, &TrainingRun),
        frame: &Frame,
        staged: &Staged,
        dummies: Bytes,
    ) -> Needed {
        let more = i128::from(job.micro_batch_size().saturating_sub(1));
        let Sort { layers, head, messages, .. } = staged.sort;
        let experts = layers.of(Kind::Experts) > 0;
        let stands =
            Stands { head, experts, messages, dummies, scores: bytes(frame.scores.at(more)) };
        let buffers = Buffers::of(run, &Content::of(job, run), &stands).sums();
        let moment = |(_, top): (_, &Top<2, [Line; 2]>)| Moment {
            order: top.order,
            bytes: top.holds.map(|line| bytes(line.at(more))),
        };
        let moments = self.moments.each_ref().map(|tops| tops.at(more).map(moment));
        let moment = Moment::higher(moments);
        let total = sum(&buffers) + moment.map_or(Bytes::ZERO, |moment| sum(&moment.bytes));
        let least =
            sum(&buffers) + self.alone.at(more).map_or(Bytes::ZERO, |(height, _)| bytes(height));
        Needed {
            buffers,
            saved: frame.sizes.whole().map(|line| bytes(line.at(more))),
            moments,
            moment,
            total,
            least,
        }
    }
}

impl Needed {
    /// The highest moment with what moves then, and all beside states.
    fn and(&self, run: &TrainingRun, moving: &Moving) -> (Option<Moment>, Bytes) {
        let in_block = At::Block { kind: Kind::Dense, recomputed: false, split: false, place: 0 };
        let mut moments = self.moments;
        for (moment, at) in moments.iter_mut().zip([At::Head(0), in_block]) {
            if let (Some(Moment { bytes: [_, passing], .. }), true) = (moment, moving.moves()) {
                *passing += moving.bytes(run, at);
            }
        }
        let moment = Moment::higher(moments);
        (moment, sum(&self.buffers) + moment.map_or(Bytes::ZERO, |moment| sum(&moment.bytes)))
    }

    /// Buffers and a moment on top of states.
    fn on(&self, mut kinds: Kinds, moment: Option<Moment>) -> Kinds {
        let [temporary, framework] = self.buffers;
        let [saved, passing] = moment.map_or_else(Alike::default, |moment| moment.bytes);
        for (kind, bytes) in [
            (MemoryKind::Activation, saved),
            (MemoryKind::Temporary, temporary + passing),
            (MemoryKind::Framework, framework),
        ] {
            if let Some(sum) = kinds.get_mut(kind.index()) {
                *sum += bytes;
            }
        }
        kinds
    }
}

/// Bytes by kind of the stage that holds most, and the first kind with which any takes more than
/// there is.
pub(super) fn most<'a>(
    (job, run): (&Job, &TrainingRun),
    stages: impl Iterator<Item = (&'a Staged, &'a Weights, &'a Needed, &'a States)>,
) -> (Kinds, Option<MemoryKind>) {
    let capacity = job.cluster().accelerator.memory;
    let moves = moves(job);
    let mut best: Option<(Bytes, Kinds)> = None;
    let mut over: Option<MemoryKind> = None;
    for (staged, weights, needed, states) in stages {
        let (moment, beside) = if moves {
            needed.and(run, &Moving::with(job, run, (weights, staged.sort.layers), &needed.saved))
        } else {
            (needed.moment, needed.total)
        };
        let total = states.total + beside;
        // Of equal ones the first.
        let is_most = best.is_none_or(|best| total > best.0);
        if !is_most && total <= capacity {
            continue;
        }
        let kinds = needed.on(states.kinds, moment);
        if total > capacity {
            over = first_over(&kinds, capacity).into_iter().chain(over).min();
        }
        if is_most {
            best = Some((total, kinds));
        }
    }
    (best.map_or_else(Kinds::default, |best| best.1), over)
}

/// A lower bound for all larger micro-batches: states, buffers and one micro-batch alone, of which
/// more sequences, or fewer micro-batches of them, never make less.
pub(super) fn floor(needed: &[Needed], states: &[States]) -> Bytes {
    needed
        .iter()
        .zip(states)
        .map(|(needed, states)| states.total + needed.least)
        .max()
        .unwrap_or(Bytes::ZERO)
}
