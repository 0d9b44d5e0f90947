//! What the page knows: one scenario, and memos of everything that follows from it.
//!
//! Events write the scenario through [`State::edit`]; nothing derived is ever written back.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use leptos::prelude::*;

use super::answers::{Answers, Look, Plots};
use super::browser;
use super::following::follow;
use super::history::{History, ONE_STEP_MS, Snapshot};
pub use super::ui::Dialog;
use super::ui::{Notice, Toast, Ui};
use crate::scenario::codec::MOST_COMPARED;
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
    /// What the user said, and the scenarios it is compared with.
    pub said: RwSignal<Snapshot>,
    /// The page itself: what is open, half typed, said.
    pub ui: RwSignal<Ui>,
    /// Everything that follows from both.
    pub answers: Memo<Answers>,
    /// Both curves.
    pub plots: Memo<Plots>,
    /// That the answer's words are written: what else there is to draw follows, in a turn of its own before the browser paints.
    pub worded: ArcTrigger,
    /// That they and what is drawn have been painted: the form, and what is seldom looked at while something changes, follow.
    pub painted: ArcTrigger,
    /// Owner of what is made later.
    pub owner: Option<Owner>,
}

thread_local! {
    static HISTORY: RefCell<History> = RefCell::new(History::default());
    /// Whether the scenario was opened rather than changed: what was answered before is then no earlier answer of it.
    static OPENED: Cell<bool> = const { Cell::new(false) };
}

impl State {
    /// The state of a page that starts with these scenarios.
    pub fn new(scenario: Scenario, compare: Vec<Scenario>, ui: Ui) -> Self {
        let said = RwSignal::new(Snapshot { scenario, compare });
        let ui = RwSignal::new(ui);
        let answers = Memo::new_owning(move |last: Option<Answers>| {
            said.with(|said| match last {
                Some(last) if OPENED.take() && said.scenario.resolve().is_err() => Answers::of(said, Some(last.forgotten())),
                last => Answers::of(said, last),
            })
        });
        let plots = Memo::new_owning(move |last| {
            answers.with(|answers| {
                ui.with(|ui| {
                    let look = Look { log: ui.log_axis, size: ui.plot_size };
                    Plots::of(answers, look, ui, last)
                })
            })
        });
        Self(Box::leak(Box::new(Page {
            said,
            ui,
            answers,
            plots,
            worded: ArcTrigger::new(),
            painted: ArcTrigger::new(),
            owner: Owner::current(),
        })))
    }

    /// Changes the scenario as one step of undo; quick changes of one field join into one step.
    pub fn edit(self, field: Option<FieldId>, change: impl FnOnce(&mut Scenario)) {
        let mut after = self.said_now();
        change(&mut after.scenario);
        self.say_instead(after, field, ONE_STEP_MS);
    }

    /// Shows a scenario in which that field was changed, joined to its last change where that is less than so many milliseconds ago.
    pub fn edit_within(self, field: FieldId, within_ms: f64, scenario: Scenario) {
        let after = Snapshot { scenario, compare: self.said_now().compare };
        self.say_instead(after, Some(field), within_ms);
    }

    fn say_instead(self, mut after: Snapshot, field: Option<FieldId>, within_ms: f64) {
        let before = self.said_now();
        follow(&mut after.scenario);
        if after == before {
            return;
        }
        HISTORY.with_borrow_mut(|history| history.record(before, field, browser::now_ms(), within_ms));
        self.said.set(after);
        self.tell_steps();
    }

    /// Writes one field.
    pub fn set(self, field: FieldId, value: Value) {
        self.edit(Some(field), |scenario| scenario.change(field, value));
    }

    /// Shows another scenario, as one step of undo.
    pub fn open(self, scenario: Scenario, compare: Vec<Scenario>) {
        self.forget_unread();
        self.opens(&scenario);
        self.say_instead(Snapshot { scenario, compare }, None, 0.0);
    }

    /// A scenario other than the one shown is about to be shown.
    fn opens(self, scenario: &Scenario) {
        OPENED.set(self.said.with_untracked(|said| said.scenario != *scenario));
    }

    /// Pins a scenario beside those that are pinned; where there is no room, the last one goes.
    pub fn compare_with(self, other: Scenario) {
        let mut compare = self.said_now().compare;
        if compare.len() == MOST_COMPARED {
            compare.pop();
            self.say("It takes the place of D.", None);
        }
        compare.push(other);
        self.open(self.scenario_now(), compare);
    }

    /// Lets one of the pinned scenarios go, or all.
    pub fn let_go(self, at: Option<usize>) {
        let mut compare = self.said_now().compare;
        match at {
            Some(at) if at < compare.len() => _ = compare.remove(at),
            _ => compare.clear(),
        }
        self.open(self.scenario_now(), compare);
    }

    /// Shows one of the pinned scenarios, and pins the one shown in its place.
    pub fn swap(self, at: usize) {
        let Snapshot { mut scenario, mut compare } = self.said_now();
        if let Some(other) = compare.get_mut(at) {
            std::mem::swap(other, &mut scenario);
            self.open(scenario, compare);
        }
    }

    /// Shows a step of a story, and nothing beside it. Undo then takes back what is changed within the step, and nothing before it.
    pub fn show_step(self, scenario: Scenario) {
        self.forget_unread();
        self.opens(&scenario);
        let after = Snapshot { scenario, compare: Vec::new() };
        if after != self.said_now() {
            self.said.set(after);
        }
    }

    /// Forgets the steps of undo, and gives them back to whoever ends the story.
    pub fn begin_steps(self) -> History {
        let history = HISTORY.take();
        self.tell_steps();
        history
    }

    /// Ends a story that began with this history: what was shown before comes back, or what is shown stays, as one step of undo.
    pub fn end_story(self, mut history: History, before: Snapshot, keep: bool) {
        if keep {
            history.record(before, None, 0.0, 0.0);
        } else {
            self.forget_unread();
            self.said.set(before);
        }
        HISTORY.set(history);
        self.tell_steps();
    }

    /// The next change is a step of undo of its own.
    pub fn settle() {
        HISTORY.with_borrow_mut(History::settle);
    }

    /// One step back; text that cannot be read goes first.
    pub fn undo(self) {
        if !self.forget_unread() {
            let current = self.said_now();
            self.show(HISTORY.with_borrow_mut(|history| history.undo(current)));
        }
    }

    /// One step forward.
    pub fn redo(self) {
        let current = self.said_now();
        self.show(HISTORY.with_borrow_mut(|history| history.redo(current)));
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

    /// All scenarios at this moment.
    pub fn said_now(self) -> Snapshot {
        self.said.get_untracked()
    }

    /// The scenario at this moment.
    pub fn scenario_now(self) -> Scenario {
        self.said_now().scenario
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
        self.page(|ui| {
            if !ui.notices.iter().any(|notice| notice.text == text) {
                let id = ui.next_id();
                ui.notices.push(Notice { id, text, warning });
            }
        });
    }

    /// Shows a short message, with the saved scenario that Undo brings back where there is one.
    pub fn say(self, text: impl Into<String>, back: Option<SavedScenario>) {
        let text = text.into();
        let mut id = 0;
        self.page(|ui| {
            id = ui.next_id();
            ui.toast = Some(Toast { text, back, id });
        });
        browser::after(8_000, move || {
            self.page(|ui| ui.toast = ui.toast.take().filter(|toast| toast.id != id));
        });
    }

    /// Forgets text that cannot be read, and tells whether there was any.
    fn forget_unread(self) -> bool {
        let any = self.ui.with_untracked(|ui| !ui.unread.is_empty());
        self.page(|ui| ui.unread.clear());
        any
    }

    fn show(self, snapshot: Option<Snapshot>) {
        if let Some(snapshot) = snapshot {
            self.said.set(snapshot);
            self.tell_steps();
        }
    }

    fn tell_steps(self) {
        let steps = HISTORY.with_borrow(History::steps);
        self.page(|ui| ui.steps = steps);
    }
}
