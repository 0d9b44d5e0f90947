//! Yes or no.

use leptos::prelude::*;

use crate::app::state::State;
use crate::scenario::{Field, Value};

/// A box to tick.
pub fn toggle_field(state: State, field: &'static Field, described: Memo<String>) -> AnyView {
    let id = field.id;
    view! {
        <input
            id=format!("f-{}", field.key)
            type="checkbox"
            prop:checked=move || state.scenario.with(|scenario| scenario.get(id)) == Value::Flag(true)
            aria-describedby=move || described.get()
            on:change:target=move |event| state.set(id, Value::Flag(event.target().checked()))
        />
        {field.label}
    }
    .into_any()
}
