//! The state of the page: one scenario, and memos of everything that follows from it.
//!
//! Events write the scenario through [`State::edit`]; nothing derived is ever written back.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leptos::prelude::*;

use super::browser;
use crate::planner::Axis;
use crate::scenario::codec::MOST_COMPARED;
use crate::scenario::records::SavedScenario;
use crate::scenario::{FieldId, Scenario, Value};
use crate::view::answers::{Answers, Plots};
use crate::view::fields::picker::Picker;
use crate::view::following::follow;
use crate::view::history::{History, ONE_STEP_MS, UndoStep};
use crate::view::panels::controls::FormPlace;
use crate::view::presenter::Lessons;
pub use crate::view::ui::Dialog;
use crate::view::ui::{
    ChartsLook, Dialogs, Drafts, FromWorkers, Notice, Opened, PageMessages, SavedList, Toast, Ui,
    View,
};

/// Everything the panels read: one page's, which lives as long as the page. A reference, so that
/// every closure copies one word.
#[derive(Clone, Copy)]
pub struct State(&'static Page);

impl Deref for State {
    type Target = Page;
    fn deref(&self) -> &Page {
        self.0
    }
}

/// The signals and memos of the page: one for each concern, so that a change reaches the parts that
/// show it and no others. They are not in Leptos' arena, as the page lives as long as they do: a
/// further type of signal costs 0.25 kB of WebAssembly so, and 0.6 kB there.
pub struct Page {
    /// The scenario, and those it is compared with.
    pub said: ArcRwSignal<UndoStep>,
    /// Drafts in the form.
    pub drafts: ArcRwSignal<Drafts>,
    /// The drafts at each place of the form, in the order of [`FormPlace::ALL`].
    pub drafts_at: [ArcMemo<Drafts>; FormPlace::ALL.len()],
    /// Entries that the reader opened and closed.
    pub opened: ArcRwSignal<Opened>,
    /// The sections that stand beside the form.
    pub view: ArcRwSignal<View>,
    /// The open dialog.
    pub dialogs: ArcRwSignal<Dialogs>,
    /// Messages.
    pub messages: ArcRwSignal<PageMessages>,
    /// How the charts are drawn.
    pub look: ArcRwSignal<ChartsLook>,
    /// The points that are read on the curves by length and by GPUs.
    pub cursors: [ArcRwSignal<Option<usize>>; 2],
    /// The scenarios kept in this browser.
    pub saved: ArcRwSignal<SavedList>,
    /// Answers that the workers found.
    pub found: ArcRwSignal<FromWorkers>,
    /// The steps of undo and redo.
    pub history: ArcRwSignal<History>,
    /// The planner's form as it travels. Nothing on the page shows it.
    pub plan: ArcStoredValue<String>,
    /// All that the page remembers of lessons.
    pub lessons: ArcStoredValue<Lessons>,
    /// True until the answer follows a scenario that was opened rather than changed: the answer
    /// before is then no earlier one of it.
    is_opened: Arc<AtomicBool>,
    /// True while some text in the form cannot be read.
    pub unread: ArcMemo<bool>,
    /// Everything that follows from the scenario.
    pub answers: ArcMemo<Answers>,
    /// Both curves.
    pub plots: ArcMemo<Plots>,
    /// Told when the answer's words are written: the drawings follow, in a turn of their own before
    /// the browser paints.
    pub worded: ArcTrigger,
    /// Told when words and drawings have been painted: the form follows, and so do parts that
    /// people seldom look at during a change.
    pub painted: ArcTrigger,
    /// Owner of what is made later.
    pub owner: Option<Owner>,
}

/// Changes of a signal. A change that leaves the value as it was tells nobody.
pub trait StateChange<T> {
    /// Changes the value.
    fn change(&self, change: impl FnOnce(&mut T));
}

impl<T: Clone + PartialEq + Send + Sync + 'static> StateChange<T> for ArcRwSignal<T> {
    fn change(&self, change: impl FnOnce(&mut T)) {
        let mut value = self.get_untracked();
        change(&mut value);
        replace(self, value);
    }
}

/// Sets a signal to another value. It is a function of its own, so that the program has it once for
/// each type and not once for each change.
fn replace<T: PartialEq + Send + Sync + 'static>(signal: &ArcRwSignal<T>, value: T) {
    if signal.with_untracked(|now| *now != value) {
        signal.set(value);
    }
}

/// Everything that follows from the scenario.
fn answers_to(said: ArcRwSignal<UndoStep>, is_opened: Arc<AtomicBool>) -> ArcMemo<Answers> {
    ArcMemo::new_owning(move |last: Option<Answers>| {
        said.with(|said| match last {
            Some(last)
                if is_opened.swap(false, Ordering::Relaxed) && said.scenario.resolve().is_err() =>
            {
                Answers::of(said, Some(last.forgotten()))
            }
            last => Answers::of(said, last),
        })
    })
}

fn plots_of(
    answers: ArcMemo<Answers>,
    look: ArcRwSignal<ChartsLook>,
    found: ArcRwSignal<FromWorkers>,
) -> ArcMemo<Plots> {
    ArcMemo::new_owning(move |last| {
        answers.with(|answers| {
            look.with(|look| found.with(|found| Plots::of(answers, look.of_curves(), found, last)))
        })
    })
}

fn drafts_at(place: FormPlace, drafts: ArcRwSignal<Drafts>) -> ArcMemo<Drafts> {
    ArcMemo::new(move |_| drafts.with(|drafts| place.drafts(drafts)))
}

fn is_unread(drafts: ArcRwSignal<Drafts>) -> ArcMemo<bool> {
    ArcMemo::new(move |_| drafts.with(|drafts| !drafts.unread.is_empty()))
}

impl State {
    /// The state of a page that starts with these scenarios.
    pub fn new(scenario: Scenario, compare: Vec<Scenario>) -> Self {
        let ui = Ui::default();
        let said = ArcRwSignal::new(UndoStep { scenario, compare });
        let drafts = ArcRwSignal::new(ui.drafts);
        let (look, found) = (ArcRwSignal::new(ui.look), ArcRwSignal::new(ui.found));
        let is_opened = Arc::new(AtomicBool::new(false));
        let answers = answers_to(said.clone(), Arc::clone(&is_opened));
        let plots = plots_of(answers.clone(), look.clone(), found.clone());
        Self(Box::leak(Box::new(Page {
            said,
            drafts_at: FormPlace::ALL.map(|place| drafts_at(place, drafts.clone())),
            unread: is_unread(drafts.clone()),
            drafts,
            opened: ArcRwSignal::new(ui.opened),
            view: ArcRwSignal::new(ui.view),
            dialogs: ArcRwSignal::new(ui.dialogs),
            messages: ArcRwSignal::new(ui.messages),
            look,
            cursors: ui.cursors.map(ArcRwSignal::new),
            saved: ArcRwSignal::new(ui.saved),
            found,
            history: ArcRwSignal::new(History::default()),
            plan: ArcStoredValue::new(String::new()),
            lessons: ArcStoredValue::new(Lessons::default()),
            is_opened,
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

    /// Shows a scenario in which that field was changed, joined to its last change where that is
    /// less than so many milliseconds ago.
    pub fn edit_within(self, field: FieldId, within_ms: f64, scenario: Scenario) {
        let after = UndoStep { scenario, compare: self.said_now().compare };
        self.say_instead(after, Some(field), within_ms);
    }

    fn say_instead(self, mut after: UndoStep, field: Option<FieldId>, within_ms: f64) {
        let before = self.said_now();
        follow(&mut after.scenario);
        if after == before {
            return;
        }
        self.history.update(|history| history.record(before, field, browser::now_ms(), within_ms));
        self.said.set(after);
    }

    /// Writes one field.
    pub fn set(self, field: FieldId, value: Value) {
        self.edit(Some(field), |scenario| scenario.change(field, value));
    }

    /// Shows another scenario, as one step of undo.
    pub fn open(self, scenario: Scenario, compare: Vec<Scenario>) {
        self.forget_unread();
        self.opens(&scenario);
        self.say_instead(UndoStep { scenario, compare }, None, 0.0);
    }

    /// A scenario other than the one shown is about to be shown.
    fn opens(self, scenario: &Scenario) {
        let other = self.said.with_untracked(|said| said.scenario != *scenario);
        self.is_opened.store(other, Ordering::Relaxed);
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
        let UndoStep { mut scenario, mut compare } = self.said_now();
        if let Some(other) = compare.get_mut(at) {
            std::mem::swap(other, &mut scenario);
            self.open(scenario, compare);
        }
    }

    /// Shows a step of a story, and nothing beside it. Undo then takes back what is changed within
    /// the step, and nothing before it.
    pub fn show_step(self, scenario: Scenario) {
        self.forget_unread();
        self.opens(&scenario);
        let after = UndoStep { scenario, compare: Vec::new() };
        if after != self.said_now() {
            self.said.set(after);
        }
    }

    /// Forgets the steps of undo, and gives them back to whoever ends the story.
    pub fn begin_steps(self) -> History {
        let mut history = History::default();
        self.history.update(|steps| std::mem::swap(steps, &mut history));
        history
    }

    /// Ends a story that began with this history: what was shown before comes back, or what is
    /// shown stays, as one step of undo.
    pub fn end_story(self, mut history: History, before: UndoStep, keep: bool) {
        if keep {
            history.record(before, None, 0.0, 0.0);
        } else {
            self.forget_unread();
            self.said.set(before);
        }
        self.history.set(history);
    }

    /// The next change is a step of undo of its own.
    pub fn settle(self) {
        self.history.update_untracked(History::settle);
    }

    /// One step back; text that cannot be read goes first.
    pub fn undo(self) {
        if !self.forget_unread() {
            let current = self.said_now();
            self.step(|history| history.undo(current));
        }
    }

    /// One step forward.
    pub fn redo(self) {
        let current = self.said_now();
        self.step(|history| history.redo(current));
    }

    /// All scenarios at this moment.
    pub fn said_now(self) -> UndoStep {
        self.said.get_untracked()
    }

    /// The scenario at this moment.
    pub fn scenario_now(self) -> Scenario {
        self.said_now().scenario
    }

    /// The open dialog at this moment.
    pub fn dialog_now(self) -> Option<Dialog> {
        self.dialogs.with_untracked(|dialogs| dialogs.dialog)
    }

    /// The list that is open at this moment.
    pub fn picker(self) -> Option<Picker> {
        self.drafts.with_untracked(|drafts| drafts.picker.clone())
    }

    /// The saved scenario whose name is being changed at this moment.
    pub fn renaming(self) -> Option<String> {
        self.saved.with_untracked(|list| list.renaming.clone())
    }

    /// True while a story is shown.
    pub fn is_presenting(self) -> bool {
        self.lessons.with_value(|lessons| lessons.show.is_some())
    }

    /// Puts a lesson's part into the address, such as `&present=zero.3`.
    pub fn lesson_in_link(self, part: &str) {
        if self.lessons.with_value(|lessons| lessons.address != part) {
            self.lessons.update_value(|lessons| part.clone_into(&mut lessons.address));
            browser::link_rests();
        }
    }

    /// The signal of a curve's cursor.
    pub const fn cursor(self, axis: Axis) -> &'static ArcRwSignal<Option<usize>> {
        let [by_length, by_gpus] = &self.0.cursors;
        match axis {
            Axis::SeqLength => by_length,
            Axis::Gpus => by_gpus,
        }
    }

    /// Runs something whose effects live as long as the page.
    pub fn as_owner<T>(self, action: impl FnOnce() -> T) -> T {
        match &self.owner {
            Some(owner) => owner.with(action),
            None => action(),
        }
    }

    /// Opens a dialog, or closes all.
    pub fn show_dialog(self, dialog: Option<Dialog>) {
        self.dialogs.change(|dialogs| dialogs.dialog = dialog);
    }

    /// Adds a notice.
    pub fn tell(self, text: String, warning: bool) {
        self.messages.change(|messages| {
            if !messages.notices.iter().any(|notice| notice.text == text) {
                let id = messages.next_id();
                messages.notices.push(Notice { id, text, warning });
            }
        });
    }

    /// Shows a short message, with the saved scenario that Undo brings back where there is one.
    pub fn say(self, text: impl Into<String>, back: Option<SavedScenario>) {
        let text = text.into();
        let mut id = 0;
        self.messages.change(|messages| {
            id = messages.next_id();
            messages.toast = Some(Toast { text, back, id });
        });
        browser::after(8_000, move || {
            self.messages.change(|messages| {
                messages.toast = messages.toast.take().filter(|toast| toast.id != id);
            });
        });
    }

    /// Forgets text that cannot be read, and tells whether there was any.
    fn forget_unread(self) -> bool {
        let any = self.drafts.with_untracked(|drafts| !drafts.unread.is_empty());
        self.drafts.change(|drafts| drafts.unread.clear());
        any
    }

    fn step(self, step: impl FnOnce(&mut History) -> Option<UndoStep>) {
        let mut shown = None;
        self.history.update(|history| shown = step(history));
        if let Some(shown) = shown {
            self.said.set(shown);
        }
    }
}
