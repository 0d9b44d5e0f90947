//! What only the printed page shows: all inputs, the link, version and date.

use leptos::prelude::*;

use crate::app::browser;
use crate::app::state::state;
use crate::app::ui::{Views, memo};
use crate::app::words::about;
use crate::scenario::{Scenario, fields, show};

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
    fields()
        .iter()
        .filter(|field| field.applies.in_mode(mode) && !field.label.is_empty())
        .map(|field| (field.label, show(field.id, &scenario.get(field.id))))
        .collect()
}
