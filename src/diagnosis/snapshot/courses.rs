//! Memory of tensors over one step, measured and predicted side by side.

use crate::estimator::HeldAfter;
use crate::units::Bytes;

/// The most points of a course.
const POINTS: usize = 240;

/// Tensors over one step on both sides, moment by moment: at each moment a tensor is allocated or
/// freed; moments are counted from the peak.
///
/// Two runs of one program allocate and free tensors in the same order, so at equally many moments
/// before the peak both are at the same tensor. Where the programs differ, the moments drift apart
/// with their distance from the peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Courses {
    /// Moments between two points; each point is the largest memory among them.
    pub each: usize,
    /// Moments before the peak.
    pub before: usize,
    /// Measured memory.
    pub measured: Vec<Bytes>,
    /// Predicted memory.
    pub predicted: Vec<Bytes>,
    /// The point at which both are furthest apart.
    pub furthest: Furthest,
}

/// A point of both courses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Furthest {
    /// Measured memory.
    pub measured: Bytes,
    /// Predicted memory.
    pub predicted: Bytes,
    /// The operation of the replay.
    pub op: &'static str,
}

impl Courses {
    /// Returns the last step of a replay and an equally long part of the record around its last
    /// peak, bytes at each moment; `None` where one of the two is empty.
    pub fn of(measured: &[Bytes], predicted: &[HeldAfter]) -> Option<Self> {
        let peak_of = |held: &mut dyn Iterator<Item = Bytes>| {
            held.enumerate().max_by_key(|(_, held)| *held).map(|(at, _)| at)
        };
        let peak = peak_of(&mut predicted.iter().map(|moment| moment.held))?;
        let place = peak_of(&mut measured.iter().copied())?;
        let before = peak.min(place);
        let moments = before + (predicted.len() - peak).min(measured.len() - place);
        let measured = measured.get(place - before..)?.get(..moments)?;
        let predicted = predicted.get(peak - before..)?.get(..moments)?;
        let each = moments.div_ceil(POINTS).max(1);
        let both = || measured.chunks(each).zip(predicted.chunks(each));
        let highest = |part: &[HeldAfter]| part.iter().copied().max_by_key(|moment| moment.held);
        let points: Vec<Furthest> = both()
            .filter_map(|(measured, predicted)| {
                let moment = highest(predicted)?;
                Some(Furthest {
                    measured: measured.iter().copied().max()?,
                    predicted: moment.held,
                    op: moment.op,
                })
            })
            .collect();
        let furthest =
            *points.iter().max_by_key(|point| point.measured.0.abs_diff(point.predicted.0))?;
        let measured = points.iter().map(|point| point.measured).collect();
        Some(Self {
            each,
            before,
            measured,
            predicted: points.iter().map(|point| point.predicted).collect(),
            furthest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Courses;
    use crate::estimator::HeldAfter;
    use crate::units::Bytes;

    fn step(held: &[u64]) -> Vec<HeldAfter> {
        held.iter()
            .map(|held| HeldAfter {
                held: Bytes(*held),
                op: if *held > 5 { "large" } else { "small" },
            })
            .collect()
    }

    fn bytes(held: &[u64]) -> Vec<Bytes> {
        held.iter().copied().map(Bytes).collect()
    }

    #[test]
    fn peaks_lie_on_each_other() {
        // The record holds the end of a step, a step, and the beginning of the next.
        let measured = bytes(&[4, 1, 2, 3, 9, 4, 1, 2]);
        let found = Courses::of(&measured, &step(&[1, 2, 3, 8, 4]));
        let found = found
            .as_ref()
            .map(|found| (&*found.measured, &*found.predicted, found.before, found.each));
        assert_eq!(found, Some((&bytes(&[1, 2, 3, 9, 4])[..], &bytes(&[1, 2, 3, 8, 4])[..], 3, 1)));
    }

    #[test]
    fn a_record_of_part_of_a_step_is_set_beside_that_part() {
        let found = Courses::of(&bytes(&[3, 9]), &step(&[1, 2, 3, 8, 4]));
        let found =
            found.as_ref().map(|found| (found.measured.len(), found.furthest.op, found.before));
        assert_eq!(found, Some((2, "large", 1)));
    }

    #[test]
    fn nothing_has_no_course() {
        assert_eq!(Courses::of(&[], &step(&[1])), None);
        assert_eq!(Courses::of(&bytes(&[1]), &[]), None);
    }

    #[test]
    fn long_steps_are_thinned_to_their_highest_moments() {
        let long: Vec<u64> =
            (0..10_000).map(|at| if at == 7_000 { 99_999 } else { at % 1000 }).collect();
        let found = Courses::of(&bytes(&long), &step(&long));
        assert!(found.is_some_and(|found| {
            found.measured.len() <= 240
                && found.measured == found.predicted
                && found.measured.contains(&Bytes(99_999))
        }));
    }
}
