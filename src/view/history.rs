//! Undo and redo: what the page showed before each change.

use crate::scenario::{FieldId, Scenario};

/// How long changes of one field count as one step, milliseconds.
pub const ONE_STEP_MS: f64 = 900.0;
/// How long changes of a number that is being typed count as one step: "1" and "12" on the way to
/// "128" are no steps of their own.
pub const TYPING_MS: f64 = 4000.0;
/// How many steps are kept.
const DEPTH: usize = 200;

/// The scenarios that one step of undo brings back.
#[derive(Clone, Debug, PartialEq)]
pub struct UndoStep {
    /// The scenario.
    pub scenario: Scenario,
    /// The scenarios it was compared with, at most three.
    pub compare: Vec<Scenario>,
}

/// The steps behind and ahead of what is shown.
#[derive(Debug, Default)]
pub struct History {
    past: Vec<UndoStep>,
    future: Vec<UndoStep>,
    last: Option<(FieldId, f64)>,
}

impl History {
    /// Remembers `before` ahead of a change. It becomes one step with the last change of the same
    /// field where that is less than `within_ms` ago.
    pub fn record(
        &mut self,
        before: UndoStep,
        field: Option<FieldId>,
        now_ms: f64,
        within_ms: f64,
    ) {
        let same = matches!((field, self.last), (Some(field), Some((last, at))) if field == last && now_ms - at < within_ms);
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
    pub fn undo(&mut self, current: UndoStep) -> Option<UndoStep> {
        self.last = None;
        let before = self.past.pop()?;
        self.future.push(current);
        Some(before)
    }

    /// One step forward from `current`.
    pub fn redo(&mut self, current: UndoStep) -> Option<UndoStep> {
        self.last = None;
        let after = self.future.pop()?;
        self.past.push(current);
        Some(after)
    }

    /// The next change is a step of its own: the reader has gone on to something else.
    pub const fn settle(&mut self) {
        self.last = None;
    }

    /// True for a step back, and for a step forward.
    pub const fn steps(&self) -> (bool, bool) {
        (!self.past.is_empty(), !self.future.is_empty())
    }
}

/// How long ago the last change of a field may be so that typing `now` over `before` is the same
/// typing, milliseconds.
pub fn window_of(before: &str, now: &str) -> f64 {
    let goes_on = !before.is_empty() && (now.starts_with(before) || before.starts_with(now));
    if goes_on { TYPING_MS } else { ONE_STEP_MS }
}

#[cfg(test)]
mod tests {
    use super::{History, ONE_STEP_MS, TYPING_MS, UndoStep, window_of};
    use crate::scenario::{FieldId, Scenario, Value};

    fn at(gpus: u64) -> UndoStep {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::Gpus, Value::Integer(gpus));
        UndoStep { scenario, compare: Vec::new() }
    }

    /// Types texts over a number, so many milliseconds after one another, and gives the history and
    /// what is shown then.
    fn typed(
        history: &mut History,
        from: u64,
        texts: &[&str],
        start_ms: f64,
        pause_ms: f64,
    ) -> u64 {
        let (mut shown, mut text, mut now) = (from, from.to_string(), start_ms);
        for next in texts {
            history.record(at(shown), Some(FieldId::Gpus), now, window_of(&text, next));
            (*next).clone_into(&mut text);
            shown = next.parse().expect("a number");
            now += pause_ms;
        }
        shown
    }

    #[test]
    fn a_value_typed_key_by_key_is_one_step() {
        for pause in [50.0, ONE_STEP_MS + 1.0, TYPING_MS - 1.0] {
            let mut history = History::default();
            let shown = typed(&mut history, 64, &["1", "12", "128"], 0.0, pause);
            assert_eq!(history.undo(at(shown)), Some(at(64)), "{pause} ms between keys");
            assert_eq!(history.steps(), (false, true));
            assert_eq!(history.redo(at(64)), Some(at(128)));
        }
    }

    #[test]
    fn another_value_a_pause_or_leaving_the_field_begins_a_step() {
        let mut history = History::default();
        let shown = typed(&mut history, 64, &["1", "12", "128"], 0.0, 300.0);
        // Typed over, with no letter in common, after a moment; then longer, after a pause; then
        // elsewhere and back.
        let shown = typed(&mut history, shown, &["3", "32"], 2_000.0, 300.0);
        let shown = typed(&mut history, shown, &["320"], 20_000.0, 0.0);
        history.settle();
        let shown = typed(&mut history, shown, &["3200"], 20_100.0, 0.0);
        history.record(at(shown), Some(FieldId::SeqLength), 20_200.0, TYPING_MS);
        for before in [3200, 320, 32, 128, 64] {
            assert_eq!(history.undo(at(0)), Some(at(before)));
        }
        assert_eq!(history.undo(at(0)), None);
    }

    #[test]
    fn presses_of_buttons_are_steps_however_quick() {
        let mut history = History::default();
        for (before, now) in [(8, 0.0), (16, 10.0), (32, 20.0)] {
            history.record(at(before), None, now, ONE_STEP_MS);
        }
        for before in [32, 16, 8] {
            assert_eq!(history.undo(at(0)), Some(at(before)));
        }
    }

    #[test]
    fn what_is_dragged_is_one_step_however_long_it_takes() {
        let mut history = History::default();
        history.record(at(8), Some(FieldId::Gpus), 0.0, 0.0);
        for (gpus, now) in [(9, 100.0), (10, 5_000.0), (16, 60_000.0)] {
            history.record(at(gpus), Some(FieldId::Gpus), now, f64::INFINITY);
        }
        assert_eq!(history.undo(at(20)), Some(at(8)));
    }

    #[test]
    fn a_change_after_undo_is_never_joined_to_what_was_undone() {
        let mut history = History::default();
        let shown = typed(&mut history, 64, &["1", "12"], 0.0, 100.0);
        assert_eq!(history.undo(at(shown)), Some(at(64)));
        history.record(at(64), Some(FieldId::Gpus), 300.0, TYPING_MS);
        assert_eq!(history.steps(), (true, false));
        assert_eq!(history.undo(at(16)), Some(at(64)));
    }
}
