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
    // Only paper shows it: made when the page is printed, not with every change.
    let prints = RwSignal::new(0_u32);
    browser::before_print(move || prints.update(|prints| *prints = prints.wrapping_add(1)));
    let inputs = memo(move || {
        prints.track();
        state.scenario.with_untracked(inputs)
    });
    let title = memo(move || {
        prints.track();
        state.scenario.with_untracked(|scenario| {
            let name = scenario.name();
            if name.is_empty() { about(scenario) } else { format!("{name}: {}", about(scenario)) }
        })
    });
    let foot = move || {
        prints.track();
        let link = untrack(|| browser::link_to(&browser::current_fragment(state)));
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
