//! A tape that was played, with other sizes: the same events in the same order.

use super::state::at;
use super::{Entry, KINDS, Kind, State, Tape, Totals};

/// Bytes of the largest storage that a tape tells from others: what as many bits hold.
pub(crate) const LARGEST: u64 = u64::MAX.div_ceil(8);

impl Tape {
    /// Bytes of every storage, in the order they were taken.
    pub fn sizes(&self) -> Vec<u64> {
        self.state.borrow().storages.iter().map(|storage| storage.bytes).collect()
    }

    /// Whether the other tape has the same events in the same stretches.
    pub fn runs_like(&self, other: &Self) -> bool {
        let (one, two) = (self.state.borrow(), other.state.borrow());
        let bounds = |state: &State| state.segments.iter().map(|segment| (segment.begins, segment.ends)).collect::<Vec<_>>();
        one.log == two.log && bounds(&one) == bounds(&two)
    }

    /// Gives each storage the size that is told for its number and works out the stretches again.
    ///
    /// What stands at a peak besides its bytes (operation, place in the log) is kept from the play only where the peak is the same.
    pub fn resize(&self, size: impl Fn(usize) -> u64) {
        let mut state = self.state.borrow_mut();
        for (number, storage) in state.storages.iter_mut().enumerate() {
            (storage.bytes, storage.kind) = (size(number), storage.born);
        }
        state.replay();
    }
}

impl State {
    /// Totals of every stretch from the log and the sizes of storages.
    fn replay(&mut self) {
        let Self { storages, segments, log, .. } = self;
        let (mut totals, mut sum): (Totals, i128) = ([0; KINDS], 0);
        let count = |kind: Kind, bytes: i128, totals: &mut Totals| {
            if let Some(total) = totals.get_mut(kind as usize) {
                *total += bytes;
            }
        };
        for segment in segments {
            (segment.start, segment.peak, segment.peak_sum, segment.event) = (totals, totals, sum, segment.begins);
            for (event, entry) in log.get(segment.begins..segment.ends).unwrap_or_default().iter().enumerate() {
                let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
                let Some(storage) = storages.get_mut(at(*id)) else { continue };
                let bytes = i128::from(storage.bytes);
                match entry {
                    Entry::Taken(_) => {
                        count(storage.kind, bytes, &mut totals);
                        sum += bytes;
                        if sum > segment.peak_sum {
                            (segment.peak_sum, segment.peak, segment.event) = (sum, totals, segment.begins + event + 1);
                        }
                    }
                    Entry::Freed(_) => {
                        count(storage.kind, -bytes, &mut totals);
                        sum -= bytes;
                    }
                    Entry::Turned(_) => {
                        count(storage.kind, -bytes, &mut totals);
                        storage.kind = Kind::Gradient;
                        count(Kind::Gradient, bytes, &mut totals);
                    }
                }
            }
            segment.end = totals;
        }
    }
}
