//! Undo and redo: what the page showed before each change.

use crate::scenario::{FieldId, Scenario};

/// How long changes of one field count as one step, milliseconds.
const ONE_STEP_MS: f64 = 900.0;
/// How many steps are kept.
const DEPTH: usize = 200;

/// What one step of undo brings back.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The scenario.
    pub scenario: Scenario,
    /// The scenarios it was compared with, at most three.
    pub compare: Vec<Scenario>,
}

/// The steps behind and ahead of what is shown.
#[derive(Debug, Default)]
pub struct History {
    past: Vec<Snapshot>,
    future: Vec<Snapshot>,
    last: Option<(FieldId, f64)>,
}

impl History {
    /// Remembers `before` ahead of a change. Quick changes of one field, such as a slider's, become one step.
    pub fn record(&mut self, before: Snapshot, field: Option<FieldId>, now_ms: f64) {
        let same = matches!((field, self.last), (Some(field), Some((last, at))) if field == last && now_ms - at < ONE_STEP_MS);
        self.last = field.map(|field| (field, now_ms));
        self.future.clear();
        if same && !self.past.is_empty() {
            return;
        }
        if self.past.len() == DEPTH {
            self.past.remove(0);
        }
        self.past.push(before);
    }

    /// One step back from `current`.
    pub fn undo(&mut self, current: Snapshot) -> Option<Snapshot> {
        self.last = None;
        let before = self.past.pop()?;
        self.future.push(current);
        Some(before)
    }

    /// One step forward from `current`.
    pub fn redo(&mut self, current: Snapshot) -> Option<Snapshot> {
        self.last = None;
        let after = self.future.pop()?;
        self.past.push(current);
        Some(after)
    }

    /// How many steps there are behind.
    pub const fn depth(&self) -> usize {
        self.past.len()
    }

    /// Forgets the steps after that many.
    pub fn cut(&mut self, depth: usize) {
        self.past.truncate(depth);
        self.last = None;
    }

    /// Whether there is a step back and a step forward.
    pub const fn steps(&self) -> (bool, bool) {
        (!self.past.is_empty(), !self.future.is_empty())
    }
}
