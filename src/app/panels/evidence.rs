//! What this answer rests on: catalog rows, assumed amounts, sources, and the documents' slips.

use leptos::prelude::*;

use crate::app::basis::{Ground, assumed_lines, catalog_rows, cited, evidence};
use crate::app::side::title;
use crate::app::state::{State, state};
use crate::app::ui::{Views, memo};
use crate::methods::wrong::{self, DocumentError};
use crate::sources::Source;
use crate::units::MemoryUnit;

/// Three lists and the documents' slips; stands below the general assumptions.
#[component]
pub fn Evidence() -> impl IntoView {
    let state = state();
    let unit = move || {
        state.rested.track();
        state.unit.get_untracked()
    };
    let rows = memo(move || unit_rows(state, unit()));
    let assumed = memo(move || {
        let unit = unit();
        state.estimate.with_untracked(|estimate| assumed_lines(estimate, unit))
    });
    let cited = memo(move || {
        state.rested.track();
        state.estimate.with_untracked(cited)
    });
    let grounds = |grounds: Memo<Vec<Ground>>| move || grounds.with(|grounds| grounds.iter().map(ground_view).views());
    view! {
        <div class="evidence" data-testid="sources">
            <div class="evidence__part">
                <h3>"Where the scenario starts from"</h3>
                <ul>{grounds(rows)}</ul>
            </div>
            <div class="evidence__part">
                <h3>"Assumed amounts, yours to change"</h3>
                <ul>{grounds(assumed)}</ul>
            </div>
            <div class="evidence__part">
                <h3>"Sources of this answer"</h3>
                <ul>{move || cited.with(|cited| cited.iter().copied().map(source_view).views())}</ul>
            </div>
        </div>
        <div class="folds">
            <Errors />
        </div>
    }
    .into_any()
}

fn unit_rows(state: State, unit: MemoryUnit) -> Vec<Ground> {
    state.answered.with_untracked(|scenario| catalog_rows(scenario, unit))
}

fn ground_view(ground: &Ground) -> AnyView {
    let class = match ground.tag {
        "checked" => "tag",
        "your values" => "tag tag--modelled",
        _ => "tag tag--assumed",
    };
    let sentences = ground.sentences.iter().map(|sentence| view! { <p>{sentence.clone()}</p> }).views();
    view! {
        <li class="evidence__item">
            <p class="evidence__name"><b>{ground.name.clone()}</b> " " <span class=class>{ground.tag}</span></p>
            {sentences}
        </li>
    }
    .into_any()
}

fn source_view(source: Source) -> AnyView {
    view! {
        <li class="evidence__item">
            <p class="evidence__name"><b>{source.who}</b> " " <span class="tag">{evidence(source.kind)}</span></p>
            <p>{source.title} ", " {source.locator} "."</p>
        </li>
    }
    .into_any()
}

/// Where the five documents' printed numbers do not follow from their own formulas; written when it is opened.
#[component]
fn Errors() -> impl IntoView {
    let open = RwSignal::new(false);
    view! {
        <details class="fold" data-testid="document-errors" on:toggle:target=move |event| open.set(event.target().open())>
            <summary class="fold__summary">
                <span class="fold__name">"Slips in the documents' numbers"</span>
                <span class="fold__state">{format!("{} places", wrong::TABLE.len())}</span>
            </summary>
            <Show when=move || open.get()>
                <div class="methods__scroll methods__sheet" tabindex="0" role="region" aria-label="Slips in the documents' numbers">
                    <table class="table">
                        <thead>
                            <tr>
                                <th scope="col">"Document"</th>
                                <th scope="col">"Place"</th>
                                <th scope="col">"Printed"</th>
                                <th scope="col">"Worked out"</th>
                                <th scope="col">"Why"</th>
                            </tr>
                        </thead>
                        <tbody>{wrong::TABLE.iter().map(error_row).views()}</tbody>
                    </table>
                </div>
            </Show>
        </details>
    }
    .into_any()
}

fn error_row(error: &'static DocumentError) -> impl IntoView {
    view! {
        <tr>
            <th scope="row">{title(error.document)}</th>
            <td>{error.place}</td>
            <td>{error.printed}</td>
            <td>{error.recomputed}</td>
            <td class="methods__why">{error.sentence}</td>
        </tr>
    }
}
