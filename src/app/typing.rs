//! What happens in the inputs of the form. Each names its field in `data-field`.

use super::browser::{self, Event};
use super::fields::picker::{Picker, option_id};
use super::fields::stepped;
use super::history::window_of;
use super::state::State;
use super::ui::Unread;
use crate::scenario::{Field, FieldKind, Value, field, field_of_key, parse};

/// Listens to all inputs.
pub fn listen(state: State) {
    on(state, "input", |state, field, event| match field.kind {
        FieldKind::Model | FieldKind::Accelerator => {
            let search = Some(browser::value_of(event));
            state.page(|ui| ui.picker = Some(Picker { search, ..Picker::new(field.id) }));
        }
        FieldKind::Choice(_) | FieldKind::Flag => {}
        _ => typed(state, field, browser::value_of(event)),
    });
    on(state, "change", |state, field, event| match field.kind {
        FieldKind::Choice(_) => {
            if let Ok(value) = parse(field.id, &browser::value_of(event)) {
                state.set(field.id, value);
            }
        }
        FieldKind::Flag => state.set(field.id, Value::Flag(browser::is_checked(event))),
        _ => {}
    });
    on(state, "keydown", |state, field, event| match field.kind {
        FieldKind::Model | FieldKind::Accelerator => picker_key(state, field, event),
        _ => step(state, field, event),
    });
    on(state, "click", |state, field, _| open(state, field));
    on(state, "focusin", |_, field, event| {
        if is_searched(field) {
            browser::select_all(event);
        }
    });
    on(state, "focusout", |state, _, _| {
        State::settle();
        state.page(|ui| (ui.typed, ui.picker) = (None, None));
    });
    browser::on("mousedown", move |event| {
        if let Some(row) = browser::named(event, "data-pick") {
            // The input keeps the focus.
            event.prevent_default();
            if let Some(picker) = state.page_now().picker {
                choose(state, field(picker.field), &row);
            }
        }
    });
}

/// Listens to events of one kind on the inputs.
fn on(state: State, kind: &'static str, handle: fn(State, &'static Field, &Event)) {
    browser::on(kind, move |event| {
        if let Some(field) = browser::of_target(event, "data-field").and_then(|key| field_of_key(&key)) {
            handle(state, field, event);
        }
    });
}

const fn is_searched(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Model | FieldKind::Accelerator)
}

/// Takes over what was typed, as far as it can be read.
fn typed(state: State, field: &'static Field, text: String) {
    let id = field.id;
    match parse(id, &text) {
        Ok(value) => {
            let mut scenario = state.scenario_now();
            let mut within_ms = 0.0;
            state.page(|ui| {
                within_ms = window_of(&ui.text_of(id, &scenario), &text);
                ui.forget(id);
                ui.typed = Some((id, text, value.clone()));
            });
            scenario.change(id, value);
            state.edit_within(id, within_ms, scenario);
        }
        Err(message) => state.page(|ui| {
            ui.forget(id);
            ui.unread.push(Unread { field: id, text, message });
        }),
    }
}

/// Arrow keys make the number larger and smaller.
fn step(state: State, field: &'static Field, event: &Event) {
    let key = browser::key_of(event).unwrap_or_default();
    let up = key == "ArrowUp";
    if !up && key != "ArrowDown" || matches!(field.kind, FieldKind::Choice(_) | FieldKind::Flag) {
        return;
    }
    event.prevent_default();
    let now = state.scenario_now().get(field.id);
    if let Some(next) = stepped(field.kind, &now, up) {
        state.page(|ui| ui.forget(field.id));
        state.set(field.id, next);
    }
}

fn open(state: State, field: &'static Field) {
    if is_searched(field) {
        state.page(|ui| {
            if ui.picker.as_ref().is_none_or(|picker| picker.field != field.id) {
                ui.picker = Some(Picker::new(field.id));
            }
        });
    }
}

fn choose(state: State, field: &'static Field, row: &str) {
    state.edit(None, |scenario| scenario.set(field.id, Value::Text(row.to_owned())));
    state.page(|ui| ui.picker = None);
}

fn picker_key(state: State, field: &'static Field, event: &Event) {
    let picker = state.page_now().picker.filter(|picker| picker.field == field.id);
    match (browser::key_of(event).unwrap_or_default().as_str(), picker) {
        ("ArrowDown", Some(picker)) => {
            let last = picker.hits(field.kind).len().saturating_sub(1);
            mark(state, field, picker.at.saturating_add(1).min(last));
        }
        ("ArrowDown", None) => open(state, field),
        ("ArrowUp", Some(picker)) => mark(state, field, picker.at.saturating_sub(1)),
        ("ArrowUp", None) => {}
        ("Enter", Some(picker)) => {
            if let Some(row) = picker.hits(field.kind).get(picker.at) {
                choose(state, field, row.id);
            }
        }
        ("Escape", Some(_)) => state.page(|ui| ui.picker = None),
        _ => return,
    }
    event.prevent_default();
}

/// Marks an entry of the open list, and brings it in sight.
fn mark(state: State, field: &'static Field, at: usize) {
    state.page(|ui| ui.picker = ui.picker.take().map(|picker| Picker { at, ..picker }));
    let marked = option_id(field, at);
    browser::after(0, move || browser::reveal(&marked));
}
