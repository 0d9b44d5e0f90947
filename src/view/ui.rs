//! The page's memory besides the scenario: open parts, half-typed texts, messages. No browser in
//! here.

use std::sync::Arc;

use super::answers::{CurveLook, Stairs};
use super::curve_view::Lines;
use super::fields::picker::Picker;
use super::panels::dialogs::paste::PasteState;
use super::replay::KnownReplay;
use crate::planner::{Axis, NamedStair};
use crate::scenario::records::SavedScenario;
use crate::scenario::{FieldId, Scenario, Value, show};

/// Text in a field that cannot be read; the scenario keeps its last valid value meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The field.
    pub field: FieldId,
    /// The text in it.
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
    /// True if something went wrong, rather than an explanation.
    pub warning: bool,
}

/// A short message, shown for some seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Toast {
    /// The message.
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
    /// True if the browser lets us store anything.
    pub available: bool,
}

/// Drafts in the form: texts that are no values yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drafts {
    /// Fields whose text cannot be read.
    pub unread: Vec<Unread>,
    /// The text typed for a field's present value, such as `4k`; gone as soon as the value changes
    /// elsewhere.
    pub typed: Option<(FieldId, String, Value)>,
    /// The list of models or accelerators that is open.
    pub picker: Option<Picker>,
}

impl Drafts {
    /// The text of that field that cannot be read.
    pub fn unread_of(&self, id: FieldId) -> Option<&Unread> {
        self.unread.iter().find(|unread| unread.field == id)
    }

    /// The text in a field: one that cannot be read, or as it was typed, or the value.
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

    /// Forgets the text of a field that cannot be read.
    pub fn forget(&mut self, id: FieldId) {
        self.unread.retain(|unread| unread.field != id);
    }

    /// The drafts of those fields alone.
    #[must_use]
    pub fn of(&self, fields: impl Fn(FieldId) -> bool) -> Self {
        Self {
            unread: self.unread.iter().filter(|unread| fields(unread.field)).cloned().collect(),
            typed: self.typed.clone().filter(|(field, ..)| fields(*field)),
            picker: self.picker.clone().filter(|picker| fields(picker.field)),
        }
    }
}

/// Entries that the reader opened and closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Names of the entries that the reader opened: rows of the ledger, help texts, folds, tables.
    pub open: Vec<String>,
    /// Names of the folds that the reader closed although something in them needs a look.
    pub shut: Vec<String>,
}

impl Opened {
    /// True if the entry of that name is open.
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

    /// A fold stands open or closed now, by the reader or because it needed a look. A fold that the
    /// reader closes stays closed, whatever changes elsewhere, until the reader opens it.
    pub fn unfolded(&mut self, name: &str, open: bool) {
        if self.is_open(name) != open {
            self.toggle(name);
        }
        self.shut.retain(|known| known != name);
        if !open {
            self.shut.push(name.to_owned());
        }
    }

    /// True if the reader closed that fold.
    pub fn is_shut(&self, name: &str) -> bool {
        self.shut.iter().any(|known| known == name)
    }
}

/// The open dialog, and what happened in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogs {
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// The outcome of the text in the paste dialog.
    pub pasted: PasteState,
    /// True if the link was copied, once that was tried.
    pub copied: Option<bool>,
}

/// Messages about the page itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageMessages {
    /// Messages that stay until they are closed.
    pub notices: Vec<Notice>,
    /// The message at the bottom.
    pub toast: Option<Toast>,
    /// The last number given to a message.
    pub last_id: u64,
}

impl PageMessages {
    /// A number that no message had.
    pub fn next_id(&mut self) -> u64 {
        self.last_id = self.last_id.saturating_add(1);
        self.last_id
    }
}

/// How the charts are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartsLook {
    /// True if the length axis is logarithmic.
    pub log_axis: bool,
    /// Width and height of one curve on the page, CSS pixels.
    pub plot_size: (u16, u16),
    /// Width of the bar on the page, CSS pixels.
    pub bar_width: u16,
    /// True if the bar shows the moment when the optimizer steps, as a story's step asks.
    pub at_step: bool,
    /// The curve that a phone shows.
    pub axis: Axis,
    /// The lines over the bars by GPUs.
    pub lines: Lines,
}

impl Default for ChartsLook {
    fn default() -> Self {
        let lines = Lines::default();
        Self {
            log_axis: true,
            plot_size: (412, 254),
            bar_width: 848,
            at_step: false,
            axis: Axis::SeqLength,
            lines,
        }
    }
}

impl ChartsLook {
    /// The look of both curves.
    pub const fn of_curves(&self) -> CurveLook {
        CurveLook { log: self.log_axis, size: self.plot_size, lines: self.lines }
    }
}

/// The points that are read on the curves by length and by GPUs, while they are not the scenario's
/// own.
pub type Cursors = [Option<usize>; 2];

/// The scenarios kept in this browser.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedList {
    /// All that storage holds.
    pub saved: Saved,
    /// The saved scenario whose name is being changed.
    pub renaming: Option<String>,
}

/// Answers that the workers found for the page's own parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FromWorkers {
    /// The best layouts at each number of GPUs.
    pub stairs: Option<Arc<Stairs>>,
    /// The allocator's answers.
    pub told: Option<Arc<KnownReplay>>,
}

impl FromWorkers {
    /// The best layouts of that scenario at each number of GPUs; none while they are not known.
    pub fn best(&self, scenario: &Scenario) -> &[NamedStair] {
        self.stairs
            .as_deref()
            .filter(|stairs| stairs.scenario == *scenario)
            .map_or(&[], |stairs| &stairs.best)
    }
}

/// The sections that stand beside the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All results.
    #[default]
    Results,
    /// Stories and exercises alone.
    Teach,
}

impl View {
    /// The word that the style sheet knows it by.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Teach => "teach",
        }
    }
}

/// The state of the page at one moment, by concern. The page keeps a signal for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ui {
    /// Drafts in the form.
    pub drafts: Drafts,
    /// Entries that the reader opened and closed.
    pub opened: Opened,
    /// The sections that stand beside the form.
    pub view: View,
    /// The open dialog.
    pub dialogs: Dialogs,
    /// Messages about the page.
    pub messages: PageMessages,
    /// How the charts are drawn.
    pub look: ChartsLook,
    /// The points that are read on the curves.
    pub cursors: Cursors,
    /// The scenarios kept in this browser.
    pub saved: SavedList,
    /// Answers that the workers found.
    pub found: FromWorkers,
    /// True if undo and redo have a step.
    pub steps: (bool, bool),
}

#[cfg(test)]
mod tests {
    use super::{Drafts, Opened, Unread};
    use crate::scenario::{FieldId, Scenario, Value};

    #[test]
    fn what_is_opened_closes_again() {
        let mut opened = Opened::default();
        opened.toggle("ledger/Weights");
        assert!(opened.is_open("ledger/Weights") && !opened.is_open("ledger"));
        opened.toggle("ledger/Weights");
        assert!(opened.open.is_empty());
    }

    #[test]
    fn a_field_shows_what_was_typed_until_its_value_changes_elsewhere() {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::SeqLength, Value::Integer(4096));
        let typed = Some((FieldId::SeqLength, "4k".to_owned(), Value::Integer(4096)));
        let mut drafts = Drafts { typed, ..Drafts::default() };
        assert_eq!(drafts.text_of(FieldId::SeqLength, &scenario), "4k");
        scenario.set(FieldId::SeqLength, Value::Integer(2048));
        assert_eq!(drafts.text_of(FieldId::SeqLength, &scenario), "2048");
        let text = Unread {
            field: FieldId::SeqLength,
            text: "nonsense".to_owned(),
            message: String::new(),
        };
        drafts.unread.push(text);
        assert_eq!(drafts.text_of(FieldId::SeqLength, &scenario), "nonsense");
        assert_eq!(drafts.of(|id| id == FieldId::Gpus), Drafts::default());
        assert_eq!(drafts.of(|id| id == FieldId::SeqLength), drafts);
        drafts.forget(FieldId::SeqLength);
        assert_eq!(drafts.text_of(FieldId::SeqLength, &scenario), "2048");
    }
}
