//! What only the printed page shows: all inputs, the link, version and date.

use leptos::prelude::*;

use crate::app::browser;
use crate::app::state::state;
use crate::app::ui::{Views, memo};
use crate::app::words::about;
use crate::scenario::{Scenario, Value, fields, show};

/// The printed page's own part.
#[component]
pub fn Printed() -> impl IntoView {
    let state = state();
    let inputs = memo(move || state.scenario.with(inputs));
    let title = memo(move || {
        state.scenario.with(|scenario| {
            let name = scenario.name();
            if name.is_empty() { about(scenario) } else { format!("{name}: {}", about(scenario)) }
        })
    });
    let foot = move || {
        let link = browser::link_to(&browser::current_fragment(state));
        format!("{link} · Headroom {} · {}", env!("CARGO_PKG_VERSION"), browser::local_date(browser::clock_ms()))
    };
    view! {
        <div class="printed" aria-hidden="true">
            <p><b>{move || title.get()}</b></p>
            <div class="printed__inputs">
                {move || {
                    inputs
                        .get()
                        .into_iter()
                        .map(|(name, value)| view! { <div class="printed__input"><span>{name}</span><span>{value}</span></div> })
                        .views()
                }}
            </div>
            <p class="printed__link">{foot}</p>
        </div>
    }
    .into_any()
}

fn inputs(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let mode = scenario.mode();
    // What is absent goes without saying: the page has room for one sheet.
    let said = |value: &Value| !matches!(value, Value::Flag(false) | Value::Empty) && *value != Value::Text(String::new());
    fields()
        .iter()
        .filter(|field| field.applies.in_mode(mode))
        .map(|field| (field, scenario.get(field.id)))
        .filter(|(_, value)| said(value))
        .map(|(field, value)| (field.label, show(field.id, &value)))
        .collect()
}
