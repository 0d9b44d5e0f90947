//! The moments of a step at which memory may be highest, with the bytes of each.

use std::array;

use super::{Played, by_kind, plus};
use crate::config::{Job, TrainingRun};
use crate::estimator::stage;
use crate::ops::tape::{Entry, Kind, Segment, State, Totals, When};
use crate::units::Bytes;

/// Bytes by kind at every moment of every stage that may be the highest, in the order of the step.
/// Which these are follows from what happens, not from sizes. `None` where what is alive partly
/// waits in host memory.
pub(in crate::estimator) fn moments(job: &Job, run: &TrainingRun) -> Option<Vec<[Bytes; 7]>> {
    let offload = job.layout().offload;
    if offload.parameters || offload.activations {
        return None;
    }
    let mut found = Vec::with_capacity(512);
    for stage in stage::stages(job) {
        let played = Played::new(job, run, stage, false);
        for played in std::iter::once(&played).chain(played.evaluation.as_deref()) {
            played.visit(|totals| found.push(by_kind(totals)));
        }
    }
    Some(found)
}

impl Played<'_> {
    /// Shows the totals of every moment after which something goes: in the first repetition of a
    /// stretch, and in the last where that stands beside more.
    fn visit(&self, mut show: impl FnMut(&Totals)) {
        let state = self.tape.state();
        let mut kinds: Vec<Kind> = state.storages.iter().map(|storage| storage.born).collect();
        let before = state
            .segments
            .iter()
            .zip(&state.held)
            .filter(|(segment, _)| segment.when == When::Before);
        before.for_each(|(segment, held)| walk(&state, (segment, held.start), &mut kinds, |_| {}));
        for (mark, elsewhere) in self.marks.iter().zip(&self.beside.elsewhere) {
            let Some(held) = state.held.get(mark.at) else { continue };
            let beside = |corrected: &Totals, played: &Totals| {
                array::from_fn(|kind| corrected[kind] - played[kind])
            };
            let first: Totals = beside(&mark.start, &held.start);
            let last =
                (mark.times > 1 || !elsewhere.is_empty()).then(|| beside(&mark.end, &held.end));
            walk(&state, (&mark.segment, held.start), &mut kinds, |held| {
                show(&plus(held, &first));
                if let Some(last) = &last {
                    show(&plus(held, last));
                }
            });
        }
    }
}

/// Walks through a stretch and shows what is held whenever something goes next, and at its end.
fn walk(
    state: &State,
    (segment, mut held): (&Segment, Totals),
    kinds: &mut [Kind],
    mut show: impl FnMut(&Totals),
) {
    let mut rises = true;
    for entry in state.log.get(segment.begins..segment.ends).unwrap_or_default() {
        let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
        let found =
            usize::try_from(*id).ok().and_then(|at| state.storages.get(at).zip(kinds.get_mut(at)));
        let Some((storage, kind)) = found else { continue };
        let (taken, bytes) = (matches!(entry, Entry::Taken(_)), i128::from(storage.bytes));
        if rises && !taken {
            show(&held);
        }
        rises = taken;
        held[*kind as usize] += if taken { bytes } else { -bytes };
        if matches!(entry, Entry::Turned(_)) {
            *kind = Kind::Gradient;
            held[*kind as usize] += bytes;
        }
    }
    if rises {
        show(&held);
    }
}
