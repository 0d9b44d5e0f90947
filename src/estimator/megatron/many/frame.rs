//! Bytes that one rank's operations save and need, with any number of sequences.

use std::array;
use std::num::NonZeroU64;

use super::super::weight::{Piece, Weight};
use super::super::{SLOTS, Sizes, slot};
use crate::config::{Choice, Job, Recompute, TrainingRun};
use crate::estimator::law::{Highest, Law, Memo, SURELY_EXACT, Top};
use crate::ops::OpList;
use crate::ops::megatron::{Part, PartKey};
use crate::units::Bytes;

/// The most sequences at once that a frame tells.
pub(super) const MOST: u64 = 1 << 14;

/// A size with any number of sequences at once: the first argument is one, and each step is one
/// more.
pub(super) type Line = Law<2>;

/// Moments of backward: bytes saved in forward, and bytes alive for a while.
pub(super) type Tops = Highest<2, [Line; 2]>;

/// Parts of a rank's operations, weighed once for all layouts that agree in what a part depends on,
/// and by whether selective recomputation drops something.
pub(super) type Parts = Memo<(PartKey, bool), Piece>;

/// Bytes that one rank's operations save and need with any number of sequences at once.
///
/// Every size is a product in which the micro-batch stands once or not at all, so that two numbers
/// of sequences tell all others. Where tokens are padded to experts' capacity or weighed by a load
/// this is not so, and a frame holds one number of sequences alone.
pub(super) struct Frame {
    pub sizes: Sizes<Line>,
    pub scores: Line,
    /// All that may be highest at each place of the schedule.
    pub tops: [Tops; SLOTS],
    /// True if the record with as many sequences as there may be agrees with the law.
    pub is_confirmed: bool,
}

impl Frame {
    /// The operations with one and two sequences and with the most, or with as many as the job has
    /// alone.
    pub fn of(
        (job, run): (&Job, &TrainingRun),
        single: bool,
        layers: &OpList,
        parts: &mut Parts,
    ) -> Self {
        let numbers = if single { [job.micro_batch_size(); 3] } else { [1, 2, MOST] };
        let weights = numbers.map(|sequences| {
            let micro_batch_size = NonZeroU64::new(sequences).unwrap_or(NonZeroU64::MIN);
            let choice =
                Choice { layout: *job.layout(), micro_batch_size, recompute: run.recompute };
            weight((&job.with_choice(&choice), run), layers, parts)
        });
        let mut is_confirmed = true;
        let mut line = |of: &dyn Fn(&Weight) -> Bytes| {
            let [one, two, most] = weights.each_ref().map(|weight| i128::from(of(weight).0));
            let line = Line::through([one, two]);
            is_confirmed &= line.at((MOST - 1).into()) == most && most < SURELY_EXACT;
            line
        };
        let sizes = Sizes(array::from_fn(|size| line(&|weight| weight.sizes.0[size])));
        let scores = line(&|weight| weight.scores);
        let mut tops: [Tops; SLOTS] = Default::default();
        let [one, ..] = &weights;
        for (order, at) in one.places().enumerate() {
            let Some(top) = tops.get_mut(slot(at.place())) else { continue };
            let holds = [0, 1].map(|part: usize| line(&|weight| weight.inside(at)[part]));
            top.keep(Top { height: holds[0] + holds[1], order, holds });
        }
        Self { sizes, scores, tops, is_confirmed }
    }
}

/// The operations of a rank with as many sequences as the job has.
fn weight((job, run): (&Job, &TrainingRun), layers: &OpList, parts: &mut Parts) -> Weight {
    let selective = run.recompute == Recompute::Selective;
    let mut piece = |of: &[Part]| {
        let make = |part: &Part| Piece::of(&part.steps(layers, job, run), run);
        let places: Vec<usize> =
            of.iter().map(|part| parts.place((part.key(job), selective), || make(part))).collect();
        Piece::joined(places.into_iter().filter_map(|place| parts.at(place)))
    };
    let experts = if job.model().moe.is_some() { &Part::EXPERTS[..] } else { &[] };
    let (dense, experts) = (piece(&Part::DENSE), piece(experts));
    Weight::of(&piece(&[Part::Embedding]), [&dense, &experts], &piece(&[Part::Head]))
}
