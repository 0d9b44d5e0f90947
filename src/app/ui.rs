//! What the page remembers besides the scenario: what is open, half typed, said. No browser in here.

use std::sync::Arc;

use super::answers::Stairs;
use super::fields::picker::Picker;
use super::panels::dialogs::paste::Pasted;
use super::replay::Told;
use crate::planner::Axis;
use crate::scenario::records::SavedScenario;
use crate::scenario::{FieldId, Scenario, Value, show};

/// Text in a field that cannot be read; the scenario keeps its last valid value meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The field.
    pub field: FieldId,
    /// What stands in it.
    pub text: String,
    /// Why it cannot be read.
    pub message: String,
}

/// A message about the page itself: a link that was not fully understood, storage that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Unique number.
    pub id: u64,
    /// One sentence or two.
    pub text: String,
    /// Whether something went wrong, rather than an explanation.
    pub warning: bool,
}

/// A short message, shown for some seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Toast {
    /// What happened.
    pub text: String,
    /// The saved scenario that Undo brings back.
    pub back: Option<SavedScenario>,
    /// Number of this toast: an older one's timer does not close a newer one.
    pub id: u64,
}

/// Which dialog is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Link, QR code, exports.
    Share,
    /// Paste a `config.json`.
    Paste,
    /// Save under a name.
    Save,
}

/// All that local storage holds of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Readable scenarios, the newest first.
    pub scenarios: Vec<SavedScenario>,
    /// How many unreadable ones were set aside.
    pub set_aside: usize,
    /// Whether the browser lets us store anything.
    pub available: bool,
}

/// The state of the page itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Ui {
    /// Fields whose text cannot be read.
    pub unread: Vec<Unread>,
    /// What was typed for a field's present value, such as `4k`; gone as soon as the value changes elsewhere.
    pub typed: Option<(FieldId, String, Value)>,
    /// The list of models or accelerators that is open.
    pub picker: Option<Picker>,
    /// Messages about the page.
    pub notices: Vec<Notice>,
    /// The message at the bottom.
    pub toast: Option<Toast>,
    /// Whether undo and redo have a step.
    pub steps: (bool, bool),
    /// Names of what the reader opened: rows of the ledger, help texts, folds, tables.
    pub open: Vec<String>,
    /// Names of the folds that the reader closed although something in them needs a look.
    pub shut: Vec<String>,
    /// Whether the length axis is logarithmic.
    pub log_axis: bool,
    /// Width and height of one curve on the page, CSS pixels.
    pub plot_size: (u16, u16),
    /// Width of the bar on the page, CSS pixels.
    pub bar_width: u16,
    /// Whether the bar shows the moment when the optimizer steps, as a story's step asks.
    pub at_step: bool,
    /// The curve that a phone shows.
    pub axis: Axis,
    /// What storage holds.
    pub saved: Saved,
    /// The saved scenario whose name is being changed.
    pub renaming: Option<String>,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// What came of the text in the paste dialog.
    pub pasted: Pasted,
    /// Whether the link was copied, once that was tried.
    pub copied: Option<bool>,
    /// The best layouts at each number of GPUs, once the worker has found them.
    pub stairs: Option<Arc<Stairs>>,
    /// The allocator's answers, once the worker has found them.
    pub told: Option<Arc<Told>>,
    /// What stands in the planner's form, as it travels.
    pub plan: String,
    /// The points that are read on the curves by length and by GPUs, while they are not the scenario's own.
    pub cursors: [Option<usize>; 2],
    /// The last number given to a message.
    pub last_id: u64,
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            unread: Vec::new(),
            typed: None,
            picker: None,
            notices: Vec::new(),
            toast: None,
            steps: (false, false),
            open: Vec::new(),
            shut: Vec::new(),
            log_axis: true,
            plot_size: (412, 254),
            bar_width: 848,
            at_step: false,
            axis: Axis::SeqLength,
            saved: Saved::default(),
            renaming: None,
            dialog: None,
            pasted: Pasted::default(),
            copied: None,
            stairs: None,
            told: None,
            plan: String::new(),
            cursors: [None; 2],
            last_id: 0,
        }
    }
}

impl Ui {
    /// A number that no message had.
    pub fn next_id(&mut self) -> u64 {
        self.last_id = self.last_id.saturating_add(1);
        self.last_id
    }

    /// Whether that is open.
    pub fn is_open(&self, name: &str) -> bool {
        self.open.iter().any(|known| known == name)
    }

    /// Opens what is closed, and the other way round.
    pub fn toggle(&mut self, name: &str) {
        match self.open.iter().position(|known| known == name) {
            Some(at) => _ = self.open.swap_remove(at),
            None => self.open.push(name.to_owned()),
        }
    }

    /// A fold stands open or closed now, by the reader or because it needed a look. What the reader closes stays closed, whatever
    /// changes elsewhere, until the reader opens it.
    pub fn unfolded(&mut self, name: &str, open: bool) {
        if self.is_open(name) != open {
            self.toggle(name);
        }
        self.shut.retain(|known| known != name);
        if !open {
            self.shut.push(name.to_owned());
        }
    }

    /// Whether the reader closed that fold.
    pub fn is_shut(&self, name: &str) -> bool {
        self.shut.iter().any(|known| known == name)
    }

    /// The text of that field that cannot be read.
    pub fn unread_of(&self, id: FieldId) -> Option<&Unread> {
        self.unread.iter().find(|unread| unread.field == id)
    }

    /// What stands in a field: text that cannot be read, or as it was typed, or the value.
    pub fn text_of(&self, id: FieldId, scenario: &Scenario) -> String {
        if let Some(unread) = self.unread_of(id) {
            return unread.text.clone();
        }
        let now = scenario.get(id);
        match &self.typed {
            Some((field, text, at)) if *field == id && *at == now => text.clone(),
            _ => show(id, &now),
        }
    }

    /// Forgets what was typed into a field.
    pub fn forget(&mut self, id: FieldId) {
        self.unread.retain(|unread| unread.field != id);
    }
}

#[cfg(test)]
mod tests {
    use super::{Ui, Unread};
    use crate::scenario::{FieldId, Scenario, Value};

    #[test]
    fn what_is_opened_closes_again() {
        let mut ui = Ui::default();
        ui.toggle("ledger/Weights");
        assert!(ui.is_open("ledger/Weights") && !ui.is_open("ledger"));
        ui.toggle("ledger/Weights");
        assert!(ui.open.is_empty());
    }

    #[test]
    fn a_field_shows_what_was_typed_until_its_value_changes_elsewhere() {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::SeqLength, Value::Integer(4096));
        let mut ui = Ui { typed: Some((FieldId::SeqLength, "4k".to_owned(), Value::Integer(4096))), ..Ui::default() };
        assert_eq!(ui.text_of(FieldId::SeqLength, &scenario), "4k");
        scenario.set(FieldId::SeqLength, Value::Integer(2048));
        assert_eq!(ui.text_of(FieldId::SeqLength, &scenario), "2048");
        let text = Unread { field: FieldId::SeqLength, text: "nonsense".to_owned(), message: String::new() };
        ui.unread.push(text);
        assert_eq!(ui.text_of(FieldId::SeqLength, &scenario), "nonsense");
        ui.forget(FieldId::SeqLength);
        assert_eq!(ui.text_of(FieldId::SeqLength, &scenario), "2048");
    }
}
