//! One of a few choices.

use leptos::prelude::*;

use super::frame::{FieldFrame, described_by, problem_of};
use crate::app::state::state;
use crate::app::ui::{Views, memo};
use crate::scenario::{Choice, Field, Value};

/// A list of choices.
#[component]
pub fn SelectField(
    /// The field's entry.
    field: &'static Field,
    /// Its choices.
    options: &'static [Choice],
    /// Whether it takes the whole width.
    #[prop(optional)]
    wide: bool,
) -> impl IntoView {
    let state = state();
    let id = field.id;
    let chosen = memo(move || match state.scenario.with(|scenario| scenario.get(id)) {
        Value::Choice(word) => word,
        _ => "",
    });
    let problem = problem_of(id);
    let choose = move |word: String| {
        if let Some(option) = options.iter().find(|option| option.value == word) {
            state.set(id, Value::Choice(option.value));
        }
    };
    view! {
        <FieldFrame field problem wide>
            <div class="field__box field__box--select">
                <select
                    id=format!("f-{}", field.key)
                    class="field__input"
                    prop:value=move || chosen.get()
                    aria-describedby=move || problem.with(|problem| described_by(field, problem.as_ref()))
                    aria-invalid=move || problem.with(Option::is_some).to_string()
                    on:change:target=move |event| choose(event.target().value())
                >
                    {options
                        .iter()
                        .map(|option| {
                            view! {
                                <option value=option.value selected=move || chosen.get() == option.value>
                                    {option.label}
                                </option>
                            }
                        })
                        .views()}
                </select>
            </div>
        </FieldFrame>
    }
}
