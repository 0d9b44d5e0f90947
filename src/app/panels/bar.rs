//! The memory of one accelerator as one bar with the line of its capacity.

use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::ui::{Views, memo};
use crate::app::words::{Scale, accelerator_name, kinds, margin, model_name, percent};
use crate::charts::{self, BarRow, BarView, Segment};
use crate::estimator::{Estimate, MemoryKind, estimate};
use crate::scenario::Scenario;
use crate::units::{MemoryUnit, to_f64};

/// The bar, and what its parts are.
#[component]
pub fn Stack() -> impl IntoView {
    let state = state();
    let svg = memo(move || charts::bar(&bar_view(state), state.bar_width.get()));
    let label = memo(move || spoken(state));
    view! {
        <figure id="stack" class="stack">
            <div class="stack__chart" role="img" aria-label=move || label.get() inner_html=move || svg.get()></div>
            <Legend />
        </figure>
    }
    .into_any()
}

/// Colour, name and amount of every kind.
#[component]
fn Legend() -> impl IntoView {
    let state = state();
    let items = memo(move || state.estimate.with(|estimate| legend(estimate, state.unit.get())));
    view! {
        <ul class="stack__legend">
            {move || {
                items
                    .get()
                    .into_iter()
                    .map(|(kind, text)| {
                        view! {
                            <li class="stack__item">
                                <span class="swatch" inner_html=charts::swatch(swatch_id(kind), kind.index())></span>
                                {kind.name()}
                                " "
                                <b class="number">{text}</b>
                            </li>
                        }
                    })
                    .views()
            }}
        </ul>
    }
}

/// An id for the swatch of a kind in the bar's legend.
const fn swatch_id(kind: MemoryKind) -> &'static str {
    ["legend-p", "legend-g", "legend-o", "legend-a", "legend-k", "legend-t", "legend-f"][kind.index()]
}

/// Kinds in use with their amounts, rounded so that they add up.
fn legend(estimate: &Estimate, unit: MemoryUnit) -> Vec<(MemoryKind, String)> {
    let scale = Scale::of(unit, estimate.total(), estimate.capacity);
    kinds(estimate, scale).into_iter().map(|(kind, rounded)| (kind, scale.number(rounded))).collect()
}

/// One row, or two when a scenario is compared with another.
fn bar_view(state: State) -> BarView {
    let unit = state.unit.get();
    let mut rows = vec![state.estimate.with(|estimate| state.answered.with(|scenario| row(estimate, scenario, unit, "A")))];
    state.compare.with(|other| {
        if let (Some(other), Some(job)) = (other, state.compare_job.get()) {
            rows.push(row(&estimate(&job), other, unit, "B"));
        }
    });
    if let [only] = rows.as_mut_slice() {
        only.name.clear();
    }
    BarView { id: "stack", rows }
}

fn row(estimate: &Estimate, scenario: &Scenario, unit: MemoryUnit, letter: &str) -> BarRow {
    let scale = Scale::of(unit, estimate.total(), estimate.capacity);
    let amount = |rounded: u64| to_f64(rounded) / to_f64(10_u64.pow(scale.decimals));
    let segment = |(kind, rounded): (MemoryKind, u64)| Segment {
        kind_index: kind.index(),
        name: kind.name().to_owned(),
        value_text: scale.number(rounded),
        value: amount(rounded),
    };
    let (number, caption) = margin(estimate, scale);
    let word = caption.split(' ').next().unwrap_or_default();
    BarRow {
        name: format!("{letter}: {}", model_name(scenario)),
        segments: kinds(estimate, scale).into_iter().map(segment).collect(),
        capacity: amount(scale.round(estimate.capacity)),
        capacity_text: format!("{} {unit} on {}", scale.show(estimate.capacity), accelerator_name(scenario)),
        margin_text: format!("{number} {unit} {word}"),
    }
}

/// The bar in words.
fn spoken(state: State) -> String {
    let unit = state.unit.get();
    state.estimate.with(|estimate| {
        let scale = Scale::of(unit, estimate.total(), estimate.capacity);
        let parts: Vec<String> = kinds(estimate, scale)
            .into_iter()
            .map(|(kind, rounded)| {
                format!("{} {}, {}", kind.name(), scale.number(rounded), percent(estimate.ledger.of(kind), estimate.total()))
            })
            .collect();
        format!("Memory of one GPU in {unit}: {}; capacity {}.", parts.join("; "), scale.show(estimate.capacity))
    })
}
