//! Clicks, choices and keys: the page's parts name an [`Action`] in their attributes, and here it
//! is done.
//!
//! `data-do` on a click, `data-change` on an input whose value is settled, `data-teach` and
//! `data-plan` on forms and inputs of those panels, `data-submit` on the form that saves,
//! `data-toggle` on a fold.

use leptos::prelude::*;

use super::browser::{self, Event};
use super::browser_why;
use super::shelf::Shelf;
use super::state::{Dialog, State, StateChange};
use super::{
    browser_later, hearing, page, pasting, planning, presenting, stairs, taking, teaching,
};
use crate::scenario::{FieldId, parse};
use crate::view::action::{Action, PlanVerb, SavedVerb, Sent, Settled, TeachVerb};
use crate::view::curve_view::Line;
use crate::view::explaining::WHY;
use crate::view::following;
use crate::view::panels::controls;
use crate::view::panels::dialogs::of_name;
use crate::view::panels::dialogs::{paste::AREA, save::NAME};
use crate::view::panels::fixes::{apply, apply_growth, growths};
use crate::view::panels::places::PLANNER;
use crate::view::panels::sections::Section;
use crate::view::panels::teach;
use crate::view::ui::View;

/// Listens to the whole page.
pub fn listen(state: State) {
    browser::on("click", move |event| {
        if let Some(said) = browser::named(event, "data-do") {
            match Action::read(&said) {
                Some(action) => act(state, action, event),
                None => not_understood(state),
            }
        } else if browser::within(event, "data-again").is_some() {
            try_again(state, event);
        }
    });
    browser::on("change", move |event| {
        if let Some(said) = browser::of_target(event, "data-change") {
            match Settled::read(&said) {
                Some(settled) => change(state, settled, event),
                None => not_understood(state),
            }
        }
    });
    browser::on("input", move |event| typed(state, event));
    browser::on("submit", move |event| {
        event.prevent_default();
        if browser::of_target(event, "data-submit").is_some() {
            save(state);
        } else if let Some(said) = browser::of_target(event, "data-teach") {
            sent(state, &said);
        } else if let Some(said) = browser::of_target(event, "data-plan") {
            plan(state, &said);
        }
    });
    browser::on("toggle", move |event| {
        if let Some(name) = browser::of_target(event, "data-toggle") {
            let open = browser::is_unfolded(event);
            state.opened.change(|opened| opened.unfolded(&name, open));
            if open && name == PLANNER {
                planning::say(state, PlanVerb::Show);
            } else if open && name == teach::PLACE {
                teaching::begin(state);
            }
        }
    });
    browser::on("close", move |event| {
        let closed = browser::of_target(event, "data-key")
            .and_then(|key| of_name(key.strip_prefix("dialog-")?));
        if closed.is_some() && closed == state.dialog_now() {
            state.show_dialog(None);
        }
    });
    browser::on("keydown", move |event| {
        let settled =
            || browser::of_target(event, "data-change").and_then(|said| Settled::read(&said));
        let renames = || matches!(settled(), Some(Settled::Rename(_)));
        if browser::key_of(event).as_deref() == Some("Escape") && renames() {
            end_renaming(state);
        }
    });
}

/// A text changed: the one in the dialog for pasting, the field that opens it, or an input of the
/// planner.
fn typed(state: State, event: &Event) {
    match browser::of_target(event, "data-testid").as_deref() {
        Some("paste-text") => pasting::typed(state),
        Some("paste") => {
            let text = pasting::of_field();
            open_dialog(state, Some(Dialog::Paste));
            pasting::hand_over(state, text, pasting::MOST_TURNS);
        }
        Some(_) | None => {
            if let Some(said) = browser::of_target(event, "data-plan") {
                plan(state, &said);
            }
        }
    }
}

/// Says that markup asks for something that this program does not know: its two halves are of
/// different builds.
pub fn not_understood(state: State) {
    state.tell("Parts of this page are of different versions. Reload the page.".to_owned(), true);
}

fn act(state: State, action: Action, event: &Event) {
    match action {
        Action::Skip(target) => {
            // The fragment is the scenario's: the jump must not write another one.
            event.prevent_default();
            browser::focus(target.id());
        }
        Action::SwitchTheme => browser::switch_theme(),
        Action::Undo => state.undo(),
        Action::Redo => state.redo(),
        Action::OpenDialog(dialog) => open_dialog(state, Some(dialog)),
        Action::CloseDialog => state.show_dialog(None),
        Action::Toggle(name) => toggle(state, &name),
        Action::Set(id, word) => set(state, id, &word),
        Action::Clear(id) => state.edit(None, |scenario| scenario.clear(id)),
        Action::Repair(id) => repair(state, id),
        Action::GoToRed(id) => go_to_red(state, id),
        Action::Fix(number) => fix(state, number),
        Action::Grow(number) => grow(state, number),
        Action::UseUsers => use_users(state),
        Action::ShowCurve(axis) => state.look.change(|look| look.axis = axis),
        Action::SwitchLine(line) => switch_line(state, line),
        Action::LogAxis(log) => state.look.change(|look| look.log_axis = log),
        Action::CloseNotice(id) => {
            state.messages.change(|messages| messages.notices.retain(|notice| notice.id != id));
        }
        Action::Hear(axis) => hearing::hear(state, axis),
        Action::GoTo(section) => go_to(state, section),
        Action::Pin => pin(state),
        Action::Unpin(at) => state.let_go(at),
        Action::Swap(at) => state.swap(at),
        Action::Copy(id) => copy(state, id),
        Action::TakeAlong(form) => taking::take(state, form),
        Action::Print => print(state),
        Action::ListFits(list) => planning::list_what_fits(state, &list),
        Action::UsePasted => pasting::take(state),
        Action::CountAsGeneric => pasting::as_generic(state),
        Action::Plan(verb) => planning::say(state, verb),
        Action::Take(link) => planning::take(state, &link, event),
        Action::Beside(link) => compare_with(state, &link),
        Action::OpenTeach => go_to(state, Section::Teach),
        Action::Teach(verb) => teaching::say(state, &verb),
        Action::PrintHandout => teaching::print_sheet(),
        Action::Present(story, step) => presenting::begin(state, &story, step, true),
        Action::Stage(verb) => presenting::act(state, verb),
        Action::ExportSaved => Shelf(state).export(),
        Action::BringBack => bring_back(state),
        Action::Saved(verb, id) => act_on_saved(state, verb, &id),
    }
}

/// Opens or closes; an explanation that opens is asked for.
fn toggle(state: State, name: &str) {
    state.opened.change(|opened| opened.toggle(name));
    if name.starts_with(WHY) {
        browser_why::follow(state);
        browser::bring_up(format!("[data-own=\"{name}\"]"));
    }
}

/// Goes to a section of the results. Stories and exercises are a view of their own, with the form
/// beside it.
fn go_to(state: State, section: Section) {
    state
        .view
        .change(|view| *view = if section == Section::Teach { View::Teach } else { View::Results });
    if section == Section::Teach {
        return teaching::open(state);
    }
    // The sections that were put away come back first.
    browser::after(0, move || {
        page::resize(state);
        if section == Section::Layouts {
            browser::unfold(PLANNER);
        }
        browser::land_on(section.id());
    });
}

/// Keeps the scenario to compare with.
fn pin(state: State) {
    state.compare_with(state.scenario_now());
    state
        .say("Kept. Now change the form: bar, curves and the table under Compare show both.", None);
}

/// A form of the panel of stories, or a question of one, was sent.
fn sent(state: State, said: &str) {
    match Sent::read(said) {
        Some(Sent::Stage(verb)) => presenting::act(state, verb),
        Some(Sent::Teach(verb)) => teaching::say(state, &verb),
        None => not_understood(state),
    }
}

/// An input of the planner was changed, or its form sent.
fn plan(state: State, said: &str) {
    match PlanVerb::read(said) {
        Some(verb) => planning::say(state, verb),
        None => not_understood(state),
    }
}

/// Tries once more what was out of reach.
fn try_again(state: State, event: &Event) {
    let fold = browser::named(event, "data-toggle");
    match (state.dialog_now(), fold.as_deref()) {
        (Some(Dialog::Paste), _) => pasting::again(state),
        (Some(Dialog::Share), _) => taking::begin(state),
        (_, Some(PLANNER)) => planning::say(state, PlanVerb::Show),
        (_, Some(teach::PLACE)) => teaching::say(state, &TeachVerb::Show),
        // Every other panel listens to its own button.
        (Some(Dialog::Save) | None, _) => {}
    }
}

/// Sets a field to the choice of that word. A press of a button is a step of undo of its own,
/// however quickly the next one follows: it is no typing.
fn set(state: State, id: FieldId, word: &str) {
    match parse(id, word) {
        Ok(value) => state.edit(None, |scenario| scenario.change(id, value)),
        Err(_) => not_understood(state),
    }
}

/// Takes the way out that a field's error offers.
fn repair(state: State, id: FieldId) {
    let unread = state.drafts.with_untracked(|drafts| drafts.unread_of(id).is_some());
    let value = if unread {
        Some(state.scenario_now().get(id))
    } else {
        state.answers.with_untracked(|answers| {
            let problem = answers.problems.iter().find(|problem| problem.field == id)?;
            problem.way_out.as_ref().map(|(_, value)| value.clone())
        })
    };
    state.drafts.change(|drafts| drafts.forget(id));
    if let Some(value) = value {
        state.set(id, value);
    }
}

/// Goes to a field that needs a look, the first one where none is named. A fold that the reader
/// closed over it opens.
fn go_to_red(state: State, named: Option<FieldId>) {
    let first = || {
        let unread =
            state.drafts.with_untracked(|drafts| drafts.unread.first().map(|unread| unread.field));
        unread.or_else(|| {
            state
                .answers
                .with_untracked(|answers| answers.problems.first().map(|problem| problem.field))
        })
    };
    if let Some(id) = named.or_else(first) {
        go_to_field(state, id);
    }
}

/// Opens the fold that a field stands in, and moves the focus to its input once that is written.
pub fn go_to_field(state: State, id: FieldId) {
    /// A fold writes its inputs after the picture of the change that opens it.
    const FOLD_IS_WRITTEN_MS: u32 = 100;
    let fold = controls::fold_of(id);
    if let Some(fold) = &fold {
        state.opened.change(|opened| opened.unfolded(fold, true));
    }
    let wait = if fold.is_some() { FOLD_IS_WRITTEN_MS } else { 0 };
    browser::after(wait, move || {
        let place = controls::place_of(id);
        browser::unfold(&place);
        browser::focus(&place);
    });
}

/// Makes a change that would help.
fn fix(state: State, number: usize) {
    let fix = state.answers.with_untracked(|answers| answers.fixes().get(number).cloned());
    if let Some(fix) = fix {
        state.edit(None, |scenario| apply(scenario, &fix));
    }
}

/// Sets one of the sizes that fit.
fn grow(state: State, number: usize) {
    let growths = state
        .answers
        .with_untracked(|answers| state.found.with_untracked(|found| growths(answers, found)));
    if let Some(growth) = growths.get(number).copied() {
        state.edit(None, |scenario| apply_growth(scenario, &growth));
    }
}

/// Shows a line over the bars by GPUs, or hides it; the best layouts are searched for where their
/// line is shown.
fn switch_line(state: State, line: Line) {
    state.look.change(|look| look.lines.switch(line));
    stairs::look(state);
}

/// Takes the fewest GPUs that carry the users.
fn use_users(state: State) {
    let load =
        state.answers.with_untracked(|answers| following::adoptable(answers.users()?).copied());
    if let Some(load) = load {
        state.edit(None, |scenario| following::adopt(scenario, &load));
    }
}

// ---- dialogs ----

/// Opens a dialog, or closes the one that is open.
pub fn open_dialog(state: State, dialog: Option<Dialog>) {
    state.dialogs.change(|dialogs| {
        dialogs.dialog = dialog;
        dialogs.copied = None;
    });
    match dialog {
        Some(Dialog::Paste) => {
            pasting::begin(state);
            focus_once_there(AREA, pasting::MOST_TURNS);
        }
        Some(Dialog::Share) => taking::begin(state),
        Some(Dialog::Save) => focus_once_there(NAME, pasting::MOST_TURNS),
        None => {}
    }
}

/// Copies what stands in the text area with that id.
fn copy(state: State, id: String) {
    browser::copy(&browser::text_in(&id), move |done| {
        state.dialogs.change(|dialogs| dialogs.copied = Some(done));
        if !done {
            browser::select(&id);
        }
    });
}

/// Prints once the dialog is gone, and the charts fit the paper.
fn print(state: State) {
    state.show_dialog(None);
    page::fit_paper(state);
    browser::after(50, browser::print);
}

fn save(state: State) {
    let name = browser::value_in("save-name");
    state.edit(None, |scenario| scenario.set_name(&name));
    Shelf(state).add(&name);
    state.show_dialog(None);
}

// ---- saved scenarios ----

/// The scenario that was deleted last comes back.
fn bring_back(state: State) {
    let mut back = None;
    state.messages.change(|messages| back = messages.toast.take().and_then(|toast| toast.back));
    if let Some(record) = back {
        Shelf(state).keep(&record, "Brought back");
    }
}

fn act_on_saved(state: State, verb: SavedVerb, id: &str) {
    let shelf = Shelf(state);
    // Another tab may have removed it.
    let Some(record) = shelf.record(id) else { return };
    match verb {
        SavedVerb::Open => shelf.open(&record),
        SavedVerb::Compare => compare_with(state, &record.link),
        SavedVerb::Rename => {
            state.saved.change(|list| list.renaming = Some(id.to_owned()));
            focus_soon(format!("name-{id}"));
        }
        SavedVerb::Duplicate => shelf.duplicate(&record),
        SavedVerb::Delete => shelf.delete(record),
    }
}

/// The focus goes to a dialog's input as soon as that is written; a browser would give it to the
/// button that closes the dialog.
fn focus_once_there(id: &'static str, turns: u32) {
    browser::after(20, move || {
        if turns > 0 && !browser::is_there(id) {
            focus_once_there(id, turns - 1);
        } else {
            browser::focus(id);
        }
    });
}

fn focus_soon(id: String) {
    browser::after(0, move || browser::focus(&id));
}

/// The focus goes back to the button.
fn end_renaming(state: State) {
    if let Some(id) = state.renaming() {
        state.saved.change(|list| list.renaming = None);
        focus_soon(format!("rename-{id}"));
    }
}

fn change(state: State, settled: Settled, event: &Event) {
    match settled {
        Settled::ImportSaved => browser::read_file(event, move |text| Shelf(state).import(text)),
        Settled::TeachFile => {
            browser::read_file(event, move |text| teaching::add_file(state, text));
        }
        Settled::PasteFile if browser::is_pickle(event) => {
            browser::read_bytes(event, move |bytes| pasting::from_snapshot(state, bytes));
        }
        Settled::PasteFile if browser::are_of_a_model(event) => {
            browser::read_beginnings(event, move |files| pasting::from_files(state, files));
        }
        Settled::PasteFile => {
            browser::read_file(event, move |text| pasting::from_file(state, text));
        }
        Settled::Rename(id) => rename(state, &id),
    }
}

/// Takes over the name in the input, unless that was given up with Escape: the browser reports the
/// change all the same, when the input goes.
fn rename(state: State, id: &str) {
    if state.renaming().as_deref() != Some(id) {
        return;
    }
    let name = browser::value_in(&format!("name-{id}"));
    end_renaming(state);
    let same = Shelf(state).record(id).is_none_or(|record| record.name == name);
    if !same && !name.trim().is_empty() {
        Shelf(state).rename(id, &name);
    }
}

/// Pins the scenario of a link.
fn compare_with(state: State, link: &str) {
    browser_later::read(link, move |decoded| state.compare_with(decoded.scenario));
}
