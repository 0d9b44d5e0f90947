//! What the page knows: one scenario, and memos of everything that follows from it.
//!
//! Events write the scenario through [`State::edit`]; nothing derived is ever written back.

use std::ops::Deref;

use leptos::prelude::*;

use super::answers::{Answers, Look, Other, Plots};
use super::browser;
use super::history::{History, Snapshot};
pub use super::ui::Dialog;
use super::ui::{Notice, Toast, Ui};
use crate::scenario::records::SavedScenario;
use crate::scenario::{FieldId, Scenario, Value};

/// Everything the panels read: one page's, which lives as long as the page. A reference, so that every closure copies one word.
#[derive(Clone, Copy)]
pub struct State(&'static Page);

impl Deref for State {
    type Target = Page;
    fn deref(&self) -> &Page {
        self.0
    }
}

/// The signals and memos of the page. Few, because every further type of signal or memo costs kilobytes of WebAssembly.
pub struct Page {
    /// What the user said.
    pub scenario: RwSignal<Scenario>,
    /// The scenario it is compared with.
    pub compare: RwSignal<Option<Scenario>>,
    /// The page itself: what is open, half typed, said.
    pub ui: RwSignal<Ui>,
    /// The points that are read on the curves by length and by GPUs, while they are not the scenario's own.
    pub cursors: RwSignal<[Option<usize>; 2]>,
    /// Everything that follows from the scenario.
    pub answers: Memo<Answers>,
    /// What follows from the scenario compared with.
    pub other: Memo<Option<Other>>,
    /// Both curves.
    pub plots: Memo<Plots>,
    /// Counts up when the answer has rested: what stands far below it follows then.
    pub rested: ReadSignal<u32>,
    /// Owner of what is made later.
    pub owner: Option<Owner>,
    history: StoredValue<History>,
    counter: StoredValue<u64>,
}

impl State {
    /// The state of a page that starts with these scenarios.
    pub fn new(scenario: Scenario, compare: Option<Scenario>, ui: Ui) -> Self {
        let scenario = RwSignal::new(scenario);
        let compare = RwSignal::new(compare);
        let ui = RwSignal::new(ui);
        let answers = Memo::new_owning(move |last| scenario.with(|scenario| Answers::of(scenario, last)));
        let other = Memo::new_owning(move |last: Option<Option<Other>>| {
            compare.with(|compare| match (compare, last) {
                (Some(scenario), Some(Some(last))) if *scenario == last.scenario => (Some(last), false),
                (None, Some(None)) => (None, false),
                (scenario, _) => (scenario.as_ref().map(Other::of), true),
            })
        });
        let plots = Memo::new_owning(move |last| {
            let look = ui.with(|ui| Look { log: ui.log_axis, size: ui.plot_size });
            answers.with(|answers| other.with(|other| Plots::of(answers, other.as_ref(), look, last)))
        });
        Self(Box::leak(Box::new(Page {
            scenario,
            compare,
            ui,
            cursors: RwSignal::new([None; 2]),
            answers,
            other,
            plots,
            rested: browser::rested(move || answers.track()),
            owner: Owner::current(),
            history: StoredValue::new(History::default()),
            counter: StoredValue::new(0),
        })))
    }

    /// Changes the scenario as one step of undo; quick changes of one field join into one step.
    pub fn edit(self, field: Option<FieldId>, change: impl FnOnce(&mut Scenario)) {
        let before = self.snapshot();
        let mut after = before.scenario.clone();
        change(&mut after);
        self.edited(before, after, field);
    }

    fn edited(self, before: Snapshot, after: Scenario, field: Option<FieldId>) {
        if after == before.scenario {
            return;
        }
        self.record(before, field);
        self.scenario.set(after);
    }

    /// Writes one field.
    pub fn set(self, field: FieldId, value: Value) {
        self.edit(Some(field), |scenario| scenario.set(field, value));
    }

    /// Shows another scenario, as one step of undo.
    pub fn open(self, scenario: Scenario, compare: Option<Scenario>) {
        let before = self.snapshot();
        self.forget_unread();
        if before.scenario == scenario && before.compare == compare {
            return;
        }
        self.record(before, None);
        self.scenario.set(scenario);
        self.compare.set(compare);
    }

    /// Pins or lets go the scenario to compare with.
    pub fn compare_with(self, other: Option<Scenario>) {
        self.open(self.scenario.get_untracked(), other);
    }

    /// One step back; text that cannot be read goes first.
    pub fn undo(self) {
        if self.forget_unread() {
            return;
        }
        let current = self.snapshot();
        let before = self.history.try_update_value(|history| history.undo(current)).flatten();
        self.show(before);
    }

    /// One step forward.
    pub fn redo(self) {
        let current = self.snapshot();
        let after = self.history.try_update_value(|history| history.redo(current)).flatten();
        self.show(after);
    }

    /// Changes the page itself. Boxed inside, so that the signal's machinery exists once.
    pub fn page(self, change: impl FnOnce(&mut Ui)) {
        let mut ui = self.ui.get_untracked();
        change(&mut ui);
        self.replace_page(ui);
    }

    fn replace_page(self, ui: Ui) {
        if self.ui.with_untracked(|now| *now != ui) {
            self.ui.set(ui);
        }
    }

    /// The scenario at this moment.
    pub fn scenario_now(self) -> Scenario {
        self.scenario.get_untracked()
    }

    /// The page at this moment.
    pub fn page_now(self) -> Ui {
        self.ui.get_untracked()
    }

    /// Opens a dialog, or closes all.
    pub fn show_dialog(self, dialog: Option<Dialog>) {
        self.page(|ui| ui.dialog = dialog);
    }

    /// Adds a notice.
    pub fn tell(self, text: String, warning: bool) {
        let id = self.next();
        self.page(|ui| {
            if !ui.notices.iter().any(|notice| notice.text == text) {
                ui.notices.push(Notice { id, text, warning });
            }
        });
    }

    /// Shows a short message, with the saved scenario that Undo brings back where there is one.
    pub fn say(self, text: impl Into<String>, back: Option<SavedScenario>) {
        let id = self.next();
        let text = text.into();
        self.page(|ui| ui.toast = Some(Toast { text, back, id }));
        browser::after(8_000, move || {
            self.page(|ui| ui.toast = ui.toast.take().filter(|toast| toast.id != id));
        });
    }

    fn next(self) -> u64 {
        self.counter
            .try_update_value(|counter| {
                *counter = counter.saturating_add(1);
                *counter
            })
            .unwrap_or_default()
    }

    /// Forgets text that cannot be read, and tells whether there was any.
    fn forget_unread(self) -> bool {
        let any = self.ui.with_untracked(|ui| !ui.unread.is_empty());
        self.page(|ui| ui.unread.clear());
        any
    }

    fn snapshot(self) -> Snapshot {
        Snapshot { scenario: self.scenario.get_untracked(), compare: self.compare.get_untracked() }
    }

    fn record(self, before: Snapshot, field: Option<FieldId>) {
        self.history.update_value(|history| history.record(before, field, browser::now_ms()));
        self.tell_steps();
    }

    fn show(self, snapshot: Option<Snapshot>) {
        let Some(snapshot) = snapshot else { return };
        self.scenario.set(snapshot.scenario);
        self.compare.set(snapshot.compare);
        self.tell_steps();
    }

    fn tell_steps(self) {
        let steps = self.history.with_value(History::steps);
        self.page(|ui| ui.steps = steps);
    }
}
