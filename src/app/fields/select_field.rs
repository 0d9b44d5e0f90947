//! One of a few choices.

use leptos::prelude::*;

use super::input::invalid;
use crate::app::markup::{Html, html};
use crate::app::state::State;
use crate::scenario::{Choice, Field, Value};

/// A list of choices.
pub fn select_field(state: State, field: &'static Field, options: &'static [Choice], described: Memo<String>) -> AnyView {
    let id = field.id;
    let chosen = Memo::new(move |_| match state.scenario.with(|scenario| scenario.get(id)) {
        Value::Choice(word) => word.to_owned(),
        _ => String::new(),
    });
    let choose = move |word: &str| {
        if let Some(option) = options.iter().find(|option| option.value == word) {
            state.set(id, Value::Choice(option.value));
        }
    };
    let list: Html =
        options.iter().map(|option| html(r#"<option value="{}">{}</option>"#, &[&option.value, &option.label])).collect();
    view! {
        <select
            id=format!("f-{}", field.key)
            class="field__input"
            inner_html=list.as_str().to_owned()
            prop:value=move || chosen.get()
            aria-describedby=move || described.get()
            aria-invalid=move || described.with(|described| invalid(described))
            on:change:target=move |event| choose(&event.target().value())
        ></select>
    }
    .into_any()
}
