//! Two scenarios side by side.

use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::ui::{Views, memo};
use crate::app::words::{Scale, kinds};
use crate::estimator::{MemoryKind, estimate};
use crate::planner::gpu_count;
use crate::scenario::{Scenario, field, show};
use crate::units::Bytes;

/// One line of the difference table: name, A, B, and whether they differ.
type Line = (String, String, String, bool);

/// Pin, swap, and the table of differences.
#[component]
pub fn Compare() -> impl IntoView {
    let state = state();
    let pinned = memo(move || state.compare.with(Option::is_some));
    let pin = move |_| state.compare_with(Some(state.scenario.get_untracked()));
    let swap = move |_| {
        if let Some(other) = state.compare.get_untracked() {
            state.open(other, Some(state.scenario.get_untracked()));
        }
    };
    view! {
        <div data-testid="compare">
            <div class="section__head">
                <h2>"Compare"</h2>
                <div class="section__tools">
                    <button type="button" class="button" hidden=move || !pinned.get() on:click=swap>"Swap A and B"</button>
                    <button type="button" class="button" hidden=move || !pinned.get() on:click=move |_| state.compare_with(None)>
                        "Stop comparing"
                    </button>
                    <button type="button" class="button" hidden=move || pinned.get() data-testid="pin" on:click=pin>
                        "Pin this one as B"
                    </button>
                </div>
            </div>
            <p class="saved__empty" hidden=move || pinned.get()>
                "Pin the scenario as B, then change A: both stand here, on the bar and on the curves, and one link carries both."
            </p>
            {move || pinned.get().then(|| view! { <Differences /> }.into_any())}
        </div>
    }
    .into_any()
}

/// What differs between A and B, inputs first, then results.
#[component]
fn Differences() -> impl IntoView {
    let state = state();
    let lines = memo(move || lines(state));
    let row = |(name, a, b, differs): Line| {
        view! {
            <tr class=if differs { "compare__differs" } else { "" }>
                <th scope="row">{name}</th>
                <td class="num">{a}</td>
                <td class="num">{b}</td>
            </tr>
        }
    };
    view! {
        <table class="table compare">
            <thead>
                <tr>
                    <th scope="col">"What differs"</th>
                    <th scope="col" class="num">"A, shown"</th>
                    <th scope="col" class="num">"B, pinned"</th>
                </tr>
            </thead>
            <tbody>{move || lines.get().into_iter().map(row).views()}</tbody>
        </table>
    }
}

fn lines(state: State) -> Vec<Line> {
    state.compare.with(|other| {
        let Some(other) = other else { return Vec::new() };
        let mut lines = state.scenario.with(|scenario| input_lines(scenario, other));
        if lines.is_empty() {
            lines.push(("No input differs yet".to_owned(), String::new(), String::new(), false));
        }
        lines.extend(result_lines(state));
        lines
    })
}

fn input_lines(a: &Scenario, b: &Scenario) -> Vec<Line> {
    let line = |id| (field(id).label.to_owned(), show(id, &a.get(id)), show(id, &b.get(id)), true);
    a.differences(b).into_iter().map(line).collect()
}

fn result_lines(state: State) -> Vec<Line> {
    let unit = state.unit.get();
    let Some(other) = state.compare_job.get() else {
        return vec![("B has an input that needs a look".to_owned(), String::new(), String::new(), false)];
    };
    let theirs = estimate(&other);
    state.estimate.with(|mine| {
        let scale = Scale { unit, decimals: 1 };
        let amount = |bytes: Bytes| format!("{} {unit}", scale.show(bytes));
        let memory = |name: &str, a: Bytes, b: Bytes| (name.to_owned(), amount(a), amount(b), a != b);
        // Rounded as in the ledger, so that the page prints one number for one thing.
        let (a, b) = (kinds(mine, scale), kinds(&theirs, scale));
        let of = |list: &[(MemoryKind, u64)], kind: MemoryKind| {
            list.iter()
                .find(|(known, _)| *known == kind)
                .map_or_else(|| "–".to_owned(), |(_, sum)| format!("{} {unit}", scale.number(*sum)))
        };
        let mut lines: Vec<Line> = MemoryKind::ALL
            .into_iter()
            .map(|kind| (kind.name().to_owned(), of(&a, kind), of(&b, kind), true))
            .filter(|(_, a, b, _)| a != b)
            .collect();
        lines.push(memory("Memory per GPU", mine.total(), theirs.total()));
        lines.push(memory("Capacity of a GPU", mine.capacity, theirs.capacity));
        let runnable = |count: &crate::planner::GpuCount| {
            count.runnable.as_ref().map_or_else(|| "none".to_owned(), |run| run.gpus.to_string())
        };
        let (a, b) = (state.count.with(runnable), runnable(&gpu_count(&other, unit)));
        let differs = a != b;
        lines.push(("Smallest number of GPUs that runs".to_owned(), a, b, differs));
        lines
    })
}
