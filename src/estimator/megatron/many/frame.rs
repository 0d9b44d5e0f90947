//! What one rank's operations save and need, with any number of sequences.

use std::num::NonZeroU64;

use super::super::{At, Kind, SLOTS, Sizes, places, slot};
use super::pieces::{Pieces, Weight};
use crate::config::{Choice, Job, TrainingRun};
use crate::units::Bytes;

/// The most sequences, and the most bytes of two of them, for which sizes surely do not saturate.
pub(super) const SURE: (u64, Bytes) = (1 << 16, Bytes(1 << 44));

/// Bytes saved in forward, and bytes alive for a while.
pub(super) type Alike = [Bytes; 2];

/// What one rank's operations save and need with any number of sequences at once.
///
/// Every size is a product in which the micro-batch stands once or not at all, so that two numbers of sequences tell all others. Where
/// tokens are padded to experts' capacity or weighed by a load this is not so, and a frame holds one number of sequences alone.
pub(super) struct Frame {
    /// With one and with two sequences; alike where the frame is of one number of them.
    pub sizes: [Sizes; 2],
    scores: [Bytes; 2],
    /// All that may be highest at each place of the schedule: how early it comes, with one and with two sequences.
    pub tops: [Vec<(usize, [Alike; 2])>; SLOTS],
    /// Whether no size of two sequences is so large that more of them might saturate.
    pub sure: bool,
}

impl Frame {
    /// The operations with one and two sequences, or with as many as the job has alone.
    pub fn of(job: &Job, run: &TrainingRun, single: bool, pieces: &mut Pieces) -> Self {
        let with = |sequences: u64| {
            let micro_batch_size = NonZeroU64::new(sequences).unwrap_or(NonZeroU64::MIN);
            job.with_choice(&Choice { layout: *job.layout(), micro_batch_size, recompute: run.recompute })
        };
        let own = job.micro_batch_size();
        let jobs = if single { [with(own), with(own)] } else { [with(1), with(2)] };
        let weights = jobs.each_ref().map(|job| pieces.weight(job, run));
        let mut tops: [Vec<(usize, [Alike; 2])>; SLOTS] = Default::default();
        let [one, _] = &weights;
        for (order, at) in places(one.head.len(), Kind::ALL.map(|kind| one.of(kind).len())).enumerate() {
            let Some(top) = tops.get_mut(slot(at.place())) else { continue };
            keep_highest(top, order, weights.each_ref().map(|weight| inside(weight, at)));
        }
        let sizes = weights.each_ref().map(Weight::sizes);
        let sure = is_sure(&sizes, &tops);
        Self { sizes, scores: weights.map(|weight| weight.scores), tops, sure }
    }

    /// What a block saves with so many sequences more than one, by kind.
    pub fn saved(&self, more: u64) -> [Bytes; 2] {
        let [[dense, experts], [dense_of_two, experts_of_two]] = self.sizes.each_ref().map(|sizes| sizes.whole);
        [along([dense, dense_of_two], more), along([experts, experts_of_two], more)]
    }

    /// Scores of a block with so many sequences more than one.
    pub fn scores(&self, more: u64) -> Bytes {
        along(self.scores, more)
    }
}

/// Whether no size of two sequences is so large that more of them might saturate.
fn is_sure([_, two]: &[Sizes; 2], tops: &[Vec<(usize, [Alike; 2])>; SLOTS]) -> bool {
    let Sizes { whole, input, again, embedding, head } = two;
    let inside = tops.iter().flatten().map(|(_, [_, two])| sum(two));
    let sizes = [whole, input, again].into_iter().flatten().chain([embedding, head]).copied();
    sizes.chain(inside).all(|bytes| bytes < SURE.1)
}

pub(super) fn sum(alike: &Alike) -> Bytes {
    let [saved, passing] = *alike;
    saved + passing
}

/// What backward needs at a moment, beside what is in flight.
fn inside(weight: &Weight, at: At) -> Alike {
    match at {
        At::Forward | At::Step => Alike::default(),
        At::Head(place) => weight.head.get(place).map_or_else(Alike::default, |moment| moment.kept),
        At::Block { kind, recomputed, split, place } => {
            weight.of(kind).get(place).map_or_else(Alike::default, |moment| match (recomputed, split) {
                (false, false) => moment.kept,
                (true, false) => moment.recomputed,
                (false, true) => moment.waiting,
                (true, true) => moment.nothing,
            })
        }
    }
}

/// Keeps a moment if it is the highest for some number of sequences, and no longer those that are not for any.
fn keep_highest(top: &mut Vec<(usize, [Alike; 2])>, order: usize, inside: [Alike; 2]) {
    let course = |[one, two]: &[Alike; 2]| (sum(one), sum(two).saturating_sub(sum(one)));
    let (first, more) = course(&inside);
    let covers = |known: &[Alike; 2]| {
        let known = course(known);
        known.0 >= first && known.1 >= more
    };
    if !top.iter().any(|(_, known)| covers(known)) {
        top.retain(|(_, known)| {
            let known = course(known);
            known.0 >= first || known.1 > more
        });
        top.push((order, inside));
    }
}

/// With so many sequences more than one.
pub(super) fn along([one, two]: [Bytes; 2], more: u64) -> Bytes {
    one + two.saturating_sub(one) * more
}

pub(super) fn along_each([[a, b], [c, d]]: &[Alike; 2], more: u64) -> Alike {
    [along([*a, *c], more), along([*b, *d], more)]
}
