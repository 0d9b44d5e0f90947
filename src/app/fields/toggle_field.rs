//! Yes or no.

use leptos::prelude::*;

use super::frame::{FieldFrame, described_by, problem_of};
use crate::app::state::state;
use crate::app::ui::memo;
use crate::scenario::{Field, Value};

/// A box to tick.
#[component]
pub fn ToggleField(
    /// The field's entry.
    field: &'static Field,
) -> impl IntoView {
    let state = state();
    let id = field.id;
    let on = memo(move || state.scenario.with(|scenario| scenario.get(id)) == Value::Flag(true));
    let problem = problem_of(id);
    view! {
        <FieldFrame field problem bare=true>
            <label class="field__check">
                <input
                    id=format!("f-{}", field.key)
                    type="checkbox"
                    prop:checked=move || on.get()
                    aria-describedby=move || problem.with(|problem| described_by(field, problem.as_ref()))
                    on:change:target=move |event| state.set(id, Value::Flag(event.target().checked()))
                />
                {field.label}
            </label>
        </FieldFrame>
    }
}
