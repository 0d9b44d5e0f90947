//! Typing and choosing in the inputs of the form. Each names its field in `data-field`.

use super::browser::{self, Event};
use super::state::{State, StateChange};
use super::{actions, browser_later};
use crate::scenario::{Field, FieldId, Value, field, field_of_key, parse};
use crate::view::fields::picker::{Picker, WayOn, option_id};
use crate::view::fields::{Control, control, stepped};
use crate::view::history::window_of;
use crate::view::ui::{Dialog, Unread};

/// Listens to all inputs.
pub fn listen(state: State) {
    on(state, "input", |state, field, event| match control(field.kind) {
        Control::Search => {
            show(
                state,
                field,
                Picker::search(field, browser::value_of(event), &state.scenario_now()),
            );
        }
        Control::Select(_) | Control::Tick => {}
        Control::Text => typed(state, field, browser::value_of(event)),
    });
    on(state, "change", |state, field, event| match control(field.kind) {
        Control::Select(_) => {
            if let Ok(value) = parse(field.id, &browser::value_of(event)) {
                state.set(field.id, value);
            }
        }
        Control::Tick => state.set(field.id, Value::Flag(browser::is_checked(event))),
        // They are read as they are typed.
        Control::Search | Control::Text => {}
    });
    on(state, "keydown", |state, field, event| match control(field.kind) {
        Control::Search => picker_key(state, field, event),
        Control::Select(_) | Control::Tick => {}
        Control::Text => step(state, field, event),
    });
    on(state, "click", open);
    on(state, "focusin", |_, field, event| {
        if is_searched(field) {
            browser::select_all(event);
        }
    });
    on(state, "focusout", |state, _, _| {
        state.settle();
        state.drafts.change(|drafts| (drafts.typed, drafts.picker) = (None, None));
    });
    browser::on("mousedown", move |event| {
        if browser::targets(event, ".picker__list") {
            // The input keeps the focus, and the list stays open.
            event.prevent_default();
        }
        if let (Some(word), Some(picker)) = (browser::named(event, "data-pick"), state.picker()) {
            choose(state, field(picker.field), &word);
        }
    });
}

/// Listens to events of one kind on the inputs.
fn on(state: State, kind: &'static str, handle: fn(State, &'static Field, &Event)) {
    browser::on(kind, move |event| {
        if let Some(field) =
            browser::of_target(event, "data-field").and_then(|key| field_of_key(&key))
        {
            handle(state, field, event);
        }
    });
}

const fn is_searched(field: &Field) -> bool {
    matches!(control(field.kind), Control::Search)
}

/// Takes over what was typed, as far as it can be read.
fn typed(state: State, field: &'static Field, text: String) {
    let id = field.id;
    match parse(id, &text) {
        Ok(value) => {
            let mut scenario = state.scenario_now();
            let mut within_ms = 0.0;
            state.drafts.change(|drafts| {
                within_ms = window_of(&drafts.text_of(id, &scenario), &text);
                drafts.forget(id);
                drafts.typed = Some((id, text, value.clone()));
            });
            scenario.change(id, value);
            state.edit_within(id, within_ms, scenario);
        }
        Err(message) => state.drafts.change(|drafts| {
            drafts.forget(id);
            drafts.unread.push(Unread { field: id, text, message });
        }),
    }
}

/// Arrow keys make the number larger and smaller.
fn step(state: State, field: &'static Field, event: &Event) {
    let key = browser::key_of(event).unwrap_or_default();
    let up = key == "ArrowUp";
    if !up && key != "ArrowDown" {
        return;
    }
    event.prevent_default();
    let now = state.scenario_now().get(field.id);
    if let Some(next) = stepped(field.kind, &now, up) {
        state.drafts.change(|drafts| drafts.forget(field.id));
        state.set(field.id, next);
    }
}

/// Opens a field's list at the chosen entry. Its name is selected, so that what is typed next
/// replaces it, also where the input had the focus before.
fn open(state: State, field: &'static Field, event: &Event) {
    let is_open = state.picker().is_some_and(|picker| picker.field == field.id);
    if is_searched(field) && !is_open {
        browser::select_all(event);
        show(state, field, Picker::open(field, &state.scenario_now()));
    }
}

/// Shows a list, its marked entry in sight.
fn show(state: State, field: &'static Field, picker: Picker) {
    let marked = picker.at.map(|at| option_id(field, at));
    state.drafts.change(|drafts| drafts.picker = Some(picker));
    browser::after(0, move || browser::reveal(&marked.unwrap_or_default()));
}

/// Takes an entry of a list by its word.
fn choose(state: State, field: &'static Field, word: &str) {
    state.drafts.change(|drafts| drafts.picker = None);
    match WayOn::of(word) {
        Some(WayOn::Paste) => {
            browser_later::with_part(move |part| (part.open_dialog)(state, Some(Dialog::Paste)));
        }
        Some(WayOn::Sizes) => actions::go_to_field(state, FieldId::HiddenSize),
        Some(WayOn::Memory) => actions::go_to_field(state, FieldId::AcceleratorMemory),
        None => state.edit(None, |scenario| scenario.set(field.id, Value::Text(word.to_owned()))),
    }
}

fn picker_key(state: State, field: &'static Field, event: &Event) {
    let picker = state.picker().filter(|picker| picker.field == field.id);
    let key = browser::key_of(event).unwrap_or_default();
    match (key.as_str(), picker) {
        ("ArrowDown", None) => open(state, field, event),
        ("ArrowUp", None) => {}
        ("Enter", Some(picker)) => match picker.taken(field, &state.scenario_now()) {
            Some(word) => choose(state, field, word),
            // Nothing was changed, or nothing found: what was typed stays for who wants to mend it.
            None if picker.at.is_some() || picker.search.is_none() => {
                state.drafts.change(|drafts| drafts.picker = None);
            }
            None => {}
        },
        ("Escape", Some(_)) => state.drafts.change(|drafts| drafts.picker = None),
        (key, Some(picker)) => match picker.moved(key, field.kind) {
            Some(at) => show(state, field, Picker { at: Some(at), ..picker }),
            None => return,
        },
        _ => return,
    }
    event.prevent_default();
}
