//! What happens on a click, a choice or a key: the page's parts name it in attributes, and here it is done.
//!
//! `data-do` on a click, `data-change` on an input whose value is settled, `data-submit` on a form, `data-toggle` on what unfolds.

use leptos::prelude::*;

use super::browser::{self, Event};
use super::browser_why;
use super::explaining::WHY;
use super::panels::controls;
use super::panels::curves::axis;
use super::panels::dialogs::of_name;
use super::panels::fixes::apply;
use super::panels::planner::PLACE;
use super::panels::teach;
use super::shelf::Shelf;
use super::state::{Dialog, State};
use super::{browser_later, following, hearing, page, pasting, planning, presenting, taking, teaching};
use crate::scenario::{Field, FieldId, field_of_key, parse};

/// Listens to the whole page.
pub fn listen(state: State) {
    browser::on("click", move |event| {
        if let Some(action) = browser::named(event, "data-do") {
            act(state, &action, event);
        } else if browser::within(event, "data-again").is_some() {
            match state.page_now().dialog {
                Some(Dialog::Paste) => pasting::again(state),
                Some(Dialog::Share) => taking::begin(state),
                _ if is_planner(event) => planning::say(state, "show"),
                _ => teach_again(state, event),
            }
        }
    });
    browser::on("change", move |event| {
        if let Some(action) = browser::of_target(event, "data-change") {
            changed(state, &action, event);
        }
    });
    browser::on("input", move |event| {
        if browser::of_target(event, "data-testid").as_deref() == Some("paste-text") {
            pasting::typed(state);
        } else if browser::of_target(event, "data-testid").as_deref() == Some("paste") {
            let text = pasting::of_field();
            open_dialog(state, Some(Dialog::Paste));
            pasting::hand_over(state, text, pasting::MOST_TURNS);
        } else if let Some(verb) = browser::of_target(event, "data-plan") {
            planning::say(state, &verb);
        }
    });
    browser::on("submit", move |event| {
        event.prevent_default();
        if browser::of_target(event, "data-submit").is_some() {
            save(state);
        } else if let Some(verb) = browser::of_target(event, "data-teach") {
            taught(state, &verb);
        } else if let Some(verb) = browser::of_target(event, "data-plan") {
            planning::say(state, &verb);
        }
    });
    browser::on("toggle", move |event| {
        if let Some(name) = browser::of_target(event, "data-toggle") {
            let open = browser::is_unfolded(event);
            state.page(|ui| ui.unfolded(&name, open));
            if open && name == PLACE {
                planning::say(state, "show");
            } else if open && name == teach::PLACE {
                teaching::begin(state);
            }
        }
    });
    browser::on("close", move |event| {
        let closed = browser::of_target(event, "data-key").and_then(|key| of_name(key.strip_prefix("dialog-")?));
        if closed.is_some() && closed == state.page_now().dialog {
            state.show_dialog(None);
        }
    });
    browser::on("keydown", move |event| {
        let renames = || browser::of_target(event, "data-change").is_some_and(|action| action.starts_with("rename:"));
        if browser::key_of(event).as_deref() == Some("Escape") && renames() {
            end_renaming(state);
        }
    });
}

/// Whether an event is inside the planner's fold.
fn is_planner(event: &Event) -> bool {
    browser::named(event, "data-toggle").as_deref() == Some(PLACE)
}

fn act(state: State, action: &str, event: &Event) {
    let (name, about) = action.split_once(':').unwrap_or((action, ""));
    match name {
        "skip" => {
            // The fragment is the scenario's: the jump must not write another one.
            event.prevent_default();
            browser::focus("answer");
        }
        "theme" => browser::switch_theme(),
        "undo" => state.undo(),
        "redo" => state.redo(),
        "dialog" => open_dialog(state, of_name(about)),
        "close" => state.show_dialog(None),
        "open" => {
            state.page(|ui| ui.toggle(about));
            if about.starts_with(WHY) {
                browser_why::follow(state);
            }
        }
        "set" => set(state, about),
        "clear" => with_field(about, |field| state.edit(None, |scenario| scenario.clear(field.id))),
        "repair" => with_field(about, |field| repair(state, field.id)),
        "red" => go_to_red(state, about),
        "fix" => fix(state, about),
        "users" => use_users(state),
        "axis" => state.page(|ui| ui.axis = axis(about)),
        "log" => state.page(|ui| ui.log_axis = about == "true"),
        "notice" => state.page(|ui| ui.notices.retain(|notice| notice.id.to_string() != about)),
        "hear" => hearing::hear(state, axis(about)),
        "pin" => state.compare_with(state.scenario_now()),
        "unpin" => state.let_go(about.parse().ok()),
        "swap" => state.swap(about.parse().unwrap_or(0)),
        "copy" => copy(state, about),
        "take-along" => taking::take(state, about),
        "print" => print(state),
        "fits" => planning::list_what_fits(state, about),
        "paste-use" => pasting::take(state),
        "paste-generic" => pasting::as_generic(state),
        "plan" => planning::say(state, about),
        "take" => planning::take(state, about, event),
        "beside" => compare_with(state, about),
        "teach" if about.is_empty() => teaching::open(state),
        "teach" => teaching::say(state, about),
        "teach-print" => teaching::print_sheet(),
        "present" => presenting::begin(state, about, true),
        "step" => presenting::act(state, about),
        _ => act_on_shelf(state, name, about),
    }
}

/// A form of the panel of stories, or a question of one, was sent.
fn taught(state: State, verb: &str) {
    match verb.strip_prefix("step:") {
        Some(verb) => presenting::act(state, verb),
        None => teaching::say(state, verb),
    }
}

fn teach_again(state: State, event: &Event) {
    if browser::named(event, "data-toggle").as_deref() == Some(teach::PLACE) {
        teaching::say(state, "show");
    }
}

fn with_field(key: &str, action: impl FnOnce(&'static Field)) {
    if let Some(field) = field_of_key(key) {
        action(field);
    }
}

/// Sets a field by its key and the word of its choice, `u:gib`.
fn set(state: State, about: &str) {
    let Some((key, word)) = about.split_once(':') else { return };
    with_field(key, |field| {
        if let Ok(value) = parse(field.id, word) {
            state.set(field.id, value);
        }
    });
}

/// Takes the way out that a field's error offers.
fn repair(state: State, id: FieldId) {
    let value = match state.page_now().unread_of(id) {
        Some(_) => Some(state.scenario_now().get(id)),
        None => state.answers.with_untracked(|answers| {
            let problem = answers.problems.iter().find(|problem| problem.field == id)?;
            problem.way_out.as_ref().map(|(_, value)| value.clone())
        }),
    };
    state.page(|ui| ui.forget(id));
    if let Some(value) = value {
        state.set(id, value);
    }
}

/// Goes to a field that needs a look, the first one where none is named. A fold that the reader closed over it opens.
fn go_to_red(state: State, key: &str) {
    let first = || {
        let unread = state.page_now().unread.first().map(|unread| unread.field);
        unread.or_else(|| state.answers.with_untracked(|answers| answers.problems.first().map(|problem| problem.field)))
    };
    if let Some(id) = field_of_key(key).map(|field| field.id).or_else(first) {
        go_to_field(state, id);
    }
}

/// Opens the fold that a field stands in, and moves the focus to its input once that is written.
pub fn go_to_field(state: State, id: FieldId) {
    /// A fold writes its inputs after the picture of the change that opens it.
    const FOLD_IS_WRITTEN_MS: u32 = 100;
    let fold = controls::fold_of(id);
    if let Some(fold) = &fold {
        state.page(|ui| ui.unfolded(fold, true));
    }
    let wait = if fold.is_some() { FOLD_IS_WRITTEN_MS } else { 0 };
    browser::after(wait, move || {
        let place = controls::place_of(id);
        browser::unfold(&place);
        browser::focus(&place);
    });
}

fn fix(state: State, index: &str) {
    let fix = state.answers.with_untracked(|answers| answers.fixes().get(index.parse::<usize>().ok()?).cloned());
    if let Some(fix) = fix {
        state.edit(None, |scenario| apply(scenario, &fix));
    }
}

/// Takes the fewest GPUs that carry the users.
fn use_users(state: State) {
    let load = state.answers.with_untracked(|answers| following::adoptable(answers.users()?).copied());
    if let Some(load) = load {
        state.edit(None, |scenario| following::adopt(scenario, &load));
    }
}

// ---- dialogs ----

/// Opens a dialog, or closes the one that is open.
pub fn open_dialog(state: State, dialog: Option<Dialog>) {
    state.page(|ui| {
        ui.dialog = dialog;
        ui.copied = None;
    });
    match dialog {
        Some(Dialog::Paste) => pasting::begin(state),
        Some(Dialog::Share) => taking::begin(state),
        _ => {}
    }
}

/// Copies what stands in the text area with that id.
fn copy(state: State, id: &str) {
    let id = id.to_owned();
    browser::copy(&browser::text_in(&id), move |done| {
        state.page(|ui| ui.copied = Some(done));
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

fn act_on_shelf(state: State, name: &str, id: &str) {
    let shelf = Shelf(state);
    match name {
        "export" => shelf.export(),
        "bring-back" => {
            let back = state.page_now().toast.and_then(|toast| toast.back);
            state.page(|ui| ui.toast = None);
            if let Some(record) = back {
                shelf.keep(&record, "Brought back");
            }
        }
        "saved-rename" => {
            state.page(|ui| ui.renaming = Some(id.to_owned()));
            focus_soon(format!("name-{id}"));
        }
        _ => {
            let Some(record) = shelf.record(id) else { return };
            match name {
                "saved-open" => shelf.open(&record),
                "saved-compare" => compare_with(state, &record.link),
                "saved-duplicate" => shelf.duplicate(&record),
                "saved-delete" => shelf.delete(record),
                _ => {}
            }
        }
    }
}

fn focus_soon(id: String) {
    browser::after(0, move || browser::focus(&id));
}

/// The focus goes back to the button.
fn end_renaming(state: State) {
    if let Some(id) = state.page_now().renaming {
        state.page(|ui| ui.renaming = None);
        focus_soon(format!("rename-{id}"));
    }
}

fn changed(state: State, action: &str, event: &Event) {
    match action.split_once(':').unwrap_or((action, "")) {
        ("import", _) => browser::read_file(event, move |text| Shelf(state).import(text)),
        ("teach-file", _) => browser::read_file(event, move |text| teaching::add_file(state, text)),
        ("paste-file", _) if browser::is_pickle(event) => {
            browser::read_bytes(event, move |bytes| pasting::from_snapshot(state, bytes));
        }
        ("paste-file", _) if browser::are_of_a_model(event) => {
            browser::read_beginnings(event, move |files| pasting::from_files(state, files));
        }
        ("paste-file", _) => browser::read_file(event, move |text| pasting::from_file(state, text)),
        // Given up with Escape: the browser reports the change all the same, when the input goes.
        ("rename", id) if state.page_now().renaming.as_deref() == Some(id) => {
            let name = browser::value_in(&format!("name-{id}"));
            end_renaming(state);
            let same = Shelf(state).record(id).is_none_or(|record| record.name == name);
            if !same && !name.trim().is_empty() {
                Shelf(state).rename(id, &name);
            }
        }
        _ => {}
    }
}

/// Pins the scenario of a link.
fn compare_with(state: State, link: &str) {
    browser_later::read(link, move |decoded| state.compare_with(decoded.scenario));
}
