//! The totals of every stretch of a tape's log, for the sizes that were played or for others.

use std::ops::{AddAssign, Neg};

use super::state::{Held, Shards, at, bytes_of};
use super::{Entry, KINDS, Kind, State, Tape};

/// A whole number that totals are summed in.
trait Amount: Copy + Default + PartialOrd + AddAssign + Neg<Output = Self> + Into<i128> {
    /// A size, which is no more than the number holds.
    fn of(bytes: u64) -> Self;
}

impl Amount for i64 {
    fn of(bytes: u64) -> Self {
        Self::try_from(bytes).unwrap_or(Self::MAX)
    }
}

impl Amount for i128 {
    fn of(bytes: u64) -> Self {
        Self::from(bytes)
    }
}

impl Tape {
    /// Gives some storages other numbers of elements, and sums the stretches up again.
    pub fn resize_some(&self, elements: impl Iterator<Item = (u32, u64)>) {
        let mut state = self.state.borrow_mut();
        for (storage, elements) in elements {
            if let Some(storage) = state.storages.get_mut(at(storage)) {
                storage.bytes = bytes_of(elements, storage.dtype);
            }
        }
        state.sum_up();
    }

    /// Shares the parameters that are declared out over so many ranks; what a rank keeps of them
    /// has the new size, which no stretch knows before they are [resized](Self::resize_some).
    pub fn share_out_again(&self, shards: Shards) {
        let mut state = self.state.borrow_mut();
        for param in 0..state.parameters.len() {
            let sharded = state.parameters.get(param).filter(|found| !found.beside);
            let Some(form) = sharded.map(|found| found.form) else { continue };
            let (kept, padded) = state.share(form, shards);
            let Some(parameter) = state.parameters.get_mut(param) else { continue };
            (parameter.kept, parameter.padded) = (kept, padded);
            let storage = at(parameter.storage);
            if let Some(storage) = state.storages.get_mut(storage) {
                storage.bytes = bytes_of(kept, storage.dtype);
            }
        }
        state.deal_out_flat(shards);
    }
}

impl State {
    /// Totals of every stretch from the log and the sizes of storages. Sums that fit in 64 bits are
    /// made in them.
    pub(super) fn sum_up(&mut self) {
        let mut all = 0_u128;
        for storage in &mut self.storages {
            storage.kind = storage.born;
            all += u128::from(storage.bytes);
        }
        if i64::try_from(all).is_ok() { self.sum_up_in::<i64>() } else { self.sum_up_in::<i128>() }
    }

    fn sum_up_in<N: Amount>(&mut self) {
        let Self { storages, segments, held, log, .. } = self;
        held.clear();
        held.reserve(segments.len());
        let (mut totals, mut sum) = ([N::default(); KINDS], N::default());
        for segment in segments {
            let (start, mut peak, mut highest, mut event) = (totals, totals, sum, segment.begins);
            // The totals of the highest moment are noted once they begin to fall, and what was
            // taken last before it.
            let (mut rises, mut last) = (false, None);
            for (entry, place) in log
                .get(segment.begins..segment.ends)
                .unwrap_or_default()
                .iter()
                .zip(segment.begins + 1..)
            {
                let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = *entry;
                let Some(storage) = storages.get_mut(at(id)) else { continue };
                let (bytes, kind) = (N::of(storage.bytes), storage.kind as usize);
                if matches!(entry, Entry::Taken(_)) {
                    totals[kind] += bytes;
                    sum += bytes;
                    if sum > highest {
                        (highest, event, rises, last) = (sum, place, true, Some(id));
                    }
                    continue;
                }
                if rises {
                    (peak, rises) = (totals, false);
                }
                totals[kind] += -bytes;
                if matches!(entry, Entry::Turned(_)) {
                    storage.kind = Kind::Gradient;
                    totals[Kind::Gradient as usize] += bytes;
                } else {
                    sum += -bytes;
                }
            }
            let last = last.and_then(|id| storages.get(at(id)));
            segment.op = last.map_or(segment.began_in, |storage| storage.taken_in);
            segment.recomputing = last.is_some_and(|storage| storage.born == Kind::Recomputed);
            segment.event = event;
            let peak = if rises { totals } else { peak };
            held.push(Held {
                start: start.map(Into::into),
                peak: peak.map(Into::into),
                end: totals.map(Into::into),
            });
        }
    }
}
