//! A number, or a short text.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::input::invalid;
use super::step::stepped;
use crate::app::state::State;
use crate::app::ui::Unread;
use crate::scenario::{Field, FieldKind, parse};

/// An input for a number. What cannot be read stays visible with its message; the scenario keeps the last valid value.
pub fn number_field(state: State, field: &'static Field, described: Memo<String>) -> AnyView {
    let text = Memo::new(move |_| state.ui.with(|ui| state.scenario.with(|scenario| ui.text_of(field.id, scenario))));
    let number = !matches!(field.kind, FieldKind::Text { .. } | FieldKind::Layers);
    view! {
        <input
            id=format!("f-{}", field.key)
            class="field__input"
            type="text"
            inputmode=if number { "decimal" } else { "text" }
            autocomplete="off"
            spellcheck="false"
            prop:value=move || text.get()
            aria-describedby=move || described.get()
            aria-invalid=move || described.with(|described| invalid(described))
            on:input:target=move |event| typed(state, field, event.target().value())
            on:keydown=move |event| step(state, field, &event)
            on:blur=move |_| state.page(|ui| ui.typed = None)
        />
        {(!field.unit.is_empty()).then(|| view! { <span class="field__unit">{field.unit}</span> }.into_any())}
    }
    .into_any()
}

/// Takes over what was typed, as far as it can be read.
fn typed(state: State, field: &'static Field, text: String) {
    let id = field.id;
    match parse(id, &text) {
        Ok(value) => {
            state.page(|ui| {
                ui.forget(id);
                ui.typed = Some((id, text, value.clone()));
            });
            state.set(id, value);
        }
        Err(message) => state.page(|ui| {
            ui.forget(id);
            ui.unread.push(Unread { field: id, text, message });
        }),
    }
}

/// Arrow keys make the number larger and smaller.
fn step(state: State, field: &'static Field, event: &KeyboardEvent) {
    let up = event.key() == "ArrowUp";
    if !up && event.key() != "ArrowDown" {
        return;
    }
    event.prevent_default();
    let now = state.scenario.with_untracked(|scenario| scenario.get(field.id));
    if let Some(next) = stepped(field.kind, &now, up) {
        state.page(|ui| ui.forget(field.id));
        state.set(field.id, next);
    }
}
