//! The bar at the top: name, undo, unit, save, share, theme.

use leptos::prelude::*;

use super::icon::Icon;
use crate::app::browser;
use crate::app::state::{Dialog, state};
use crate::app::ui::memo;
use crate::app::words::about;
use crate::scenario::{FieldId, Scenario, Value};
use crate::units::MemoryUnit;

/// The bar that stays at the top.
#[component]
pub fn TopBar() -> impl IntoView {
    let state = state();
    let name = memo(move || state.scenario.with(title));
    view! {
        <header class="bar">
            <a class="bar__name" href="#v1" aria-label="Headroom: the default scenario">
                <svg class="bar__mark" viewBox="0 0 22 22" aria-hidden="true" focusable="false">
                    <rect class="bar__mark-level" x="5" y="10" width="12" height="8" rx="1" />
                    <rect class="bar__mark-box" x="3" y="3" width="16" height="16" rx="3" />
                </svg>
                <span class="bar__brand">"Headroom"</span>
            </a>
            <span class="bar__about">{move || name.get()}</span>
            <div class="bar__tools">
                <HistoryButtons />
                <span class="bar__gap"></span>
                <UnitSwitch />
                <span class="bar__gap"></span>
                <button type="button" class="button" aria-label="Save" data-testid="save" on:click=move |_| state.dialog.set(Some(Dialog::Save))>
                    {Icon::Save.view()}
                    <span class="bar__word">"Save"</span>
                </button>
                <button
                    type="button"
                    class="button button--main"
                    aria-label="Share"
                    data-testid="share"
                    on:click=move |_| state.dialog.set(Some(Dialog::Share))
                >
                    {Icon::Share.view()}
                    <span class="bar__word">"Share"</span>
                </button>
                <button
                    type="button"
                    class="button button--plain button--icon bar__theme"
                    aria-label="Switch between light and dark"
                    title="Light or dark"
                    on:click=|_| browser::switch_theme()
                >
                    {Icon::Theme.view()}
                </button>
            </div>
        </header>
    }
    .into_any()
}

/// What the bar calls the scenario: its own name, or what it is.
fn title(scenario: &Scenario) -> String {
    let name = scenario.name();
    if name.is_empty() { about(scenario) } else { format!("{name} · {}", about(scenario)) }
}

/// One step back, one step forward.
#[component]
fn HistoryButtons() -> impl IntoView {
    let state = state();
    let can_undo = move || state.steps.get().0 || state.unread.with(|unread| !unread.is_empty());
    view! {
        <button
            type="button"
            class="button button--plain button--icon"
            aria-label="Undo"
            title="Undo (Ctrl+Z)"
            data-testid="undo"
            disabled=move || !can_undo()
            on:click=move |_| state.undo()
        >
            {Icon::Undo.view()}
        </button>
        <button
            type="button"
            class="button button--plain button--icon"
            aria-label="Redo"
            title="Redo (Ctrl+Shift+Z)"
            data-testid="redo"
            disabled=move || !state.steps.get().1
            on:click=move |_| state.redo()
        >
            {Icon::Redo.view()}
        </button>
    }
}

/// GiB or GB for the whole page.
#[component]
fn UnitSwitch() -> impl IntoView {
    let state = state();
    let option = move |unit: MemoryUnit, about: &'static str| {
        view! {
            <button
                type="button"
                class="switch__option"
                title=about
                data-testid=format!("unit-{}", unit.name())
                aria-pressed=move || (state.unit.get() == unit).to_string()
                on:click=move |_| state.set(FieldId::MemoryUnit, Value::choice(unit))
            >
                {unit.name()}
            </button>
        }
    };
    view! {
        <div class="switch" role="group" aria-label="Unit of memory">
            {option(MemoryUnit::Gib, "Binary: 1 GiB is 1 073 741 824 bytes")}
            {option(MemoryUnit::Gb, "Decimal: 1 GB is 1 000 000 000 bytes")}
        </div>
    }
}
