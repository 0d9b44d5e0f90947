//! What one rank's operations save and need, with any number of sequences.

use std::num::NonZeroU64;

use super::super::lines::scores;
use super::super::{Alive, At, Entry, SLOTS, Scope, Sizes, schedule, slot};
use crate::config::{Choice, Job, TrainingRun};
use crate::ops::megatron::rank_model;
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
    tops: [Vec<(usize, [Alike; 2])>; SLOTS],
    /// Whether no size of two sequences is so large that more of them might saturate.
    pub sure: bool,
}

/// A frame with a number of sequences.
#[derive(Default)]
pub(super) struct Block {
    pub sizes: Sizes,
    pub scores: Bytes,
    pub tops: [Option<(usize, Alike)>; SLOTS],
}

impl Frame {
    /// The operations with one and two sequences, or with as many as the job has alone.
    pub fn of(job: &Job, run: &TrainingRun, single: bool) -> Self {
        let with = |sequences: u64| {
            let micro_batch_size = NonZeroU64::new(sequences).unwrap_or(NonZeroU64::MIN);
            job.with_choice(&Choice { layout: *job.layout(), micro_batch_size, recompute: run.recompute })
        };
        let own = job.micro_batch_size();
        let jobs = if single { [with(own), with(own)] } else { [with(1), with(2)] };
        let models = jobs.each_ref().map(|job| rank_model(job, run));
        let [one, two] = [0, 1].map(|at: usize| {
            let (job, model) = (jobs.get(at).unwrap_or(job), models.get(at));
            model.map(|model| Scope { job, run, model, stage: schedule::stage(job, run, 0) })
        });
        let both = |of: &dyn Fn(&Scope) -> Bytes| [&one, &two].map(|scope| scope.as_ref().map_or(Bytes::ZERO, of));
        let scores = both(&|scope| scores(&scope.model.dense));
        let sizes = [&one, &two].map(|scope| scope.as_ref().map_or_else(Sizes::default, Scope::sizes));
        let mut tops: [Vec<(usize, [Alike; 2])>; SLOTS] = Default::default();
        for (order, at) in one.as_ref().map_or_else(Vec::new, Scope::places).into_iter().enumerate() {
            let Some(top) = tops.get_mut(slot(at.place())) else { continue };
            let inside = [&one, &two].map(|scope| scope.as_ref().map_or_else(Alike::default, |scope| inside(scope, at)));
            keep_highest(top, order, inside);
        }
        let sure = is_sure(&sizes, &tops);
        Self { sizes, scores, tops, sure }
    }

    /// With so many sequences more than one.
    pub fn with(&self, more: u64, block: &mut Block) {
        let along = |line| along(line, more);
        let pair = |of: fn(&Sizes) -> [Bytes; 2]| {
            let [[a, b], [c, d]] = self.sizes.each_ref().map(of);
            [along([a, c]), along([b, d])]
        };
        let [embedding, head] = pair(|sizes| [sizes.embedding, sizes.head]);
        block.sizes = Sizes {
            whole: pair(|sizes| sizes.whole),
            input: pair(|sizes| sizes.input),
            again: pair(|sizes| sizes.again),
            embedding,
            head,
        };
        block.scores = along(self.scores);
        for (top, lines) in block.tops.iter_mut().zip(&self.tops) {
            let values = lines.iter().map(|(order, line)| (*order, along_each(line, more)));
            // Of equal ones the first.
            *top = values.reduce(|best, other| if sum(&other.1) > sum(&best.1) { other } else { best });
        }
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
fn inside(scope: &Scope, at: At) -> Alike {
    let mut sum = Sum::default();
    scope.add_inside(at, &mut sum);
    sum.0
}

/// Bytes of entries.
#[derive(Default)]
struct Sum(Alike);

impl<'a> Extend<Entry<'a>> for Sum {
    fn extend<T: IntoIterator<Item = Entry<'a>>>(&mut self, entries: T) {
        let Self([saved, passing]) = self;
        for entry in entries {
            *if entry.why == Alive::Saved { &mut *saved } else { &mut *passing } += entry.bytes();
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
fn along([one, two]: [Bytes; 2], more: u64) -> Bytes {
    one + two.saturating_sub(one) * more
}

pub(super) fn along_each([[a, b], [c, d]]: &[Alike; 2], more: u64) -> Alike {
    [along([*a, *c], more), along([*b, *d], more)]
}
