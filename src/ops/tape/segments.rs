//! Events of memory in order, and the stretches of a step into which they are cut.

use super::state::{State, Totals, When};

/// An event of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The storage is taken.
    Taken(u32),
    /// The storage is freed.
    Freed(u32),
    /// The storage becomes a gradient that is kept.
    Turned(u32),
}

/// Memory of a stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub start: Totals,
    pub peak: Totals,
    pub end: Totals,
}

/// A stretch of the step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    pub when: When,
    pub layer: u16,
    /// Operation that it begins in.
    pub began_in: u16,
    /// Operation at the peak.
    pub op: u16,
    /// True if the peak is in a recomputed forward.
    pub recomputing: bool,
    /// Length of the log when it begins, and at the peak.
    pub begins: usize,
    pub event: usize,
    /// Length of the log when it ends.
    pub ends: usize,
}

impl State {
    /// Begins a stretch of the step, and closes the one before.
    pub fn segment(&mut self, when: When, layer: u16) {
        self.end_segment();
        self.layer = layer;
        let (begins, began_in) = (self.log.len(), self.op);
        self.segments.push(Segment { when, layer, began_in, begins, ..Segment::default() });
    }

    fn end_segment(&mut self) {
        let ends = self.log.len();
        if let Some(last) = self.segments.last_mut() {
            last.ends = ends;
        }
    }

    /// Closes the last stretch, and sums all of them up.
    pub fn close(&mut self) {
        self.end_segment();
        self.sum_up();
    }
}
