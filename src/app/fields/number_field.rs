//! A number, or a short text.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::frame::{FieldFrame, described_by, problem_of};
use super::step::stepped;
use crate::app::state::{Unread, state};
use crate::app::ui::memo;
use crate::scenario::{Field, FieldKind, Value, parse, show};

/// An input for a number. What cannot be read stays visible with its message; the scenario keeps the last valid value.
#[component]
pub fn NumberField(
    /// The field's entry.
    field: &'static Field,
    /// Whether it takes the whole width.
    #[prop(optional)]
    wide: bool,
) -> impl IntoView {
    let state = state();
    let id = field.id;
    let value = memo(move || state.scenario.with(|scenario| scenario.get(id)));
    // What was typed for the present value, such as `4k`; gone as soon as the value changes elsewhere.
    let typed = RwSignal::new(None::<(String, Value)>);
    let problem = problem_of(id);
    let text = memo(move || {
        let unread = state.unread.with(|unread| unread.iter().find(|text| text.field == id).map(|text| text.text.clone()));
        let now = value.get();
        unread
            .or_else(|| typed.with(|typed| typed.as_ref().filter(|(_, at)| *at == now).map(|(text, _)| text.clone())))
            .unwrap_or_else(|| show(id, &now))
    });
    let on_text = move |text: String| {
        state.unread.update(|unread| unread.retain(|text| text.field != id));
        match parse(id, &text) {
            Ok(value) => {
                typed.set(Some((text, value.clone())));
                state.set(id, value);
            }
            Err(message) => state.unread.update(|unread| unread.push(Unread { field: id, text, message })),
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let up = event.key() == "ArrowUp";
        if !up && event.key() != "ArrowDown" {
            return;
        }
        event.prevent_default();
        if let Some(next) = stepped(field.kind, &value.get_untracked(), up) {
            state.unread.update(|unread| unread.retain(|text| text.field != id));
            state.set(id, next);
        }
    };
    let number = !matches!(field.kind, FieldKind::Text { .. } | FieldKind::Layers);
    view! {
        <FieldFrame field problem wide>
            <div class=if field.unit.is_empty() { "field__box" } else { "field__box field__box--unit" }>
                <input
                    id=format!("f-{}", field.key)
                    class="field__input"
                    type="text"
                    inputmode=if number { "decimal" } else { "text" }
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=move || text.get()
                    aria-describedby=move || problem.with(|problem| described_by(field, problem.as_ref()))
                    aria-invalid=move || problem.with(Option::is_some).to_string()
                    on:input:target=move |event| on_text(event.target().value())
                    on:keydown=on_key
                    on:blur=move |_| typed.set(None)
                />
                {(!field.unit.is_empty()).then(|| view! { <span class="field__unit">{field.unit}</span> }.into_any())}
            </div>
        </FieldFrame>
    }
}
