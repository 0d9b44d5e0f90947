//! What a tape's log comes to: the totals of every stretch, for the sizes that were played or for others.

use std::ops::{AddAssign, Neg};

use super::state::{Shards, at, bytes_of};
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

    /// Shares the parameters that are declared out over so many ranks; what a rank keeps of them has the new size, which no stretch
    /// knows before they are [resized](Self::resize_some).
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
    /// Totals of every stretch from the log and the sizes of storages. Sums that fit in 64 bits are made in them.
    pub(super) fn sum_up(&mut self) {
        let all: u128 = self.storages.iter().map(|storage| u128::from(storage.bytes)).sum();
        if i64::try_from(all).is_ok() { self.sum_up_in::<i64>() } else { self.sum_up_in::<i128>() }
    }

    fn sum_up_in<N: Amount>(&mut self) {
        let Self { storages, segments, log, .. } = self;
        for storage in &mut *storages {
            storage.kind = storage.born;
        }
        let (mut totals, mut sum) = ([N::default(); KINDS], N::default());
        for segment in segments {
            let (mut peak, mut highest, mut event) = (totals, sum, segment.begins);
            // The totals of the highest moment are noted once they begin to fall.
            let mut rises = false;
            segment.start = totals.map(Into::into);
            (segment.op, segment.recomputing) = (segment.began_in, false);
            for (place, entry) in log.get(segment.begins..segment.ends).unwrap_or_default().iter().enumerate() {
                let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
                let Some(storage) = storages.get_mut(at(*id)) else { continue };
                let (bytes, taken) = (N::of(storage.bytes), matches!(entry, Entry::Taken(_)));
                if rises && !taken {
                    (peak, rises) = (totals, false);
                }
                let change = if taken { bytes } else { -bytes };
                if let Some(total) = totals.get_mut(storage.kind as usize) {
                    *total += change;
                }
                if matches!(entry, Entry::Turned(_)) {
                    storage.kind = Kind::Gradient;
                    if let Some(total) = totals.get_mut(Kind::Gradient as usize) {
                        *total += bytes;
                    }
                    continue;
                }
                sum += change;
                if sum > highest {
                    (highest, event, rises) = (sum, segment.begins + place + 1, true);
                    (segment.op, segment.recomputing) = (storage.taken_in, storage.born == Kind::Recomputed);
                }
            }
            let peak = if rises { totals } else { peak };
            (segment.peak, segment.event, segment.end) = (peak.map(Into::into), event, totals.map(Into::into));
        }
    }
}
