//! Five documents, five answers: the engine and the five methods side by side, with the reason for every difference.

use leptos::prelude::*;

use crate::app::side::{Cell, DOCUMENTS, Row, Side, Tone, formula_lines, summary, table};
use crate::app::state::state;
use crate::app::ui::{Views, memo};
use crate::app::words::{gpus, whole};
use crate::charts;
use crate::methods::{MethodAnswer, StoryStep, story};
use crate::units::MemoryUnit;

/// Ids of the kinds' swatches in this table.
const SWATCHES: [&str; 7] = ["doc-p", "doc-g", "doc-o", "doc-a", "doc-k", "doc-t", "doc-f"];

/// The section: one table for all, one sheet for each document.
#[component]
pub fn Methods() -> impl IntoView {
    let state = state();
    let side = memo(move || {
        state.rested.track();
        let unit = state.unit.get_untracked();
        state.job.with_untracked(|job| state.estimate.with_untracked(|estimate| Side::of(job, estimate, unit)))
    });
    view! {
        <div class="section__head">
            <h2>"Five documents, five answers"</h2>
            <p class="section__note">
                "The same scenario by the engine and by the methods of five documents, for one GPU of this layout. "
                "A dash means that nothing of this kind is counted."
            </p>
        </div>
        <div class="methods" data-testid="methods">
            <SideBySide side />
            <div class="folds">{(0..DOCUMENTS.len()).map(|index| view! { <Document side index /> }).views()}</div>
        </div>
    }
    .into_any()
}

/// The table.
#[component]
fn SideBySide(
    /// All answers.
    side: Memo<Side>,
) -> impl IntoView {
    let state = state();
    let rows = memo(move || {
        state.rested.track();
        let unit = state.unit.get_untracked();
        let table = |side: &Side| {
            state.estimate.with_untracked(|estimate| state.count.with_untracked(|count| table(side, estimate, count, unit)))
        };
        side.with(table)
    });
    let heads = || DOCUMENTS.map(|(_, title)| view! { <th scope="col" class="num">{title}</th> }).views();
    view! {
        <div class="methods__scroll" tabindex="0" role="region" aria-label="Engine and documents side by side">
            <table class="table methods__table">
                <thead>
                    <tr>
                        <th scope="col" class="methods__name">{move || format!("Memory per GPU, {}", state.unit.get())}</th>
                        <th scope="col" class="num methods__engine">"Engine"</th>
                        {heads()}
                    </tr>
                </thead>
                <tbody>{move || rows.with(|rows| rows.iter().map(row_view).views())}</tbody>
            </table>
        </div>
    }
}

fn row_view(row: &Row) -> AnyView {
    let swatch = row.kind.and_then(|kind| SWATCHES.get(kind.index()).map(|id| charts::swatch(id, kind.index())));
    let swatch = swatch.map(|svg| view! { <span class="swatch" inner_html=svg></span> });
    let cells = row.cells.iter().enumerate().map(|(index, cell)| cell_view(index == 0, cell)).views();
    view! {
        <tr class=if row.id == "total" { "table__total" } else { "" } data-testid=format!("methods-row-{}", row.id)>
            <th scope="row" class="methods__name">
                <span class="methods__label">{swatch} {row.label.clone()}</span>
            </th>
            {cells}
        </tr>
    }
    .into_any()
}

fn cell_view(engine: bool, cell: &Cell) -> AnyView {
    let tone = match cell.tone {
        Tone::Plain => "num",
        Tone::Good => "num methods__good",
        Tone::Bad => "num methods__bad",
        Tone::Quiet => "num quiet",
        Tone::Prose => "methods__prose",
    };
    let class = if engine { format!("{tone} methods__engine") } else { tone.to_owned() };
    view! { <td class=class>{cell.text.clone()}</td> }.into_any()
}

/// One document's sheet, written when it is opened.
#[component]
fn Document(
    /// All answers.
    side: Memo<Side>,
    /// Which of the five.
    index: usize,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let (id, title) = DOCUMENTS.get(index).copied().unwrap_or_default();
    let heading =
        move || side.with(|side| side.answers.get(index).map(|answer| format!("{} · {}", summary(answer), answer.document)));
    view! {
        <details class="fold" data-testid=format!("methods-{id}") on:toggle:target=move |event| open.set(event.target().open())>
            <summary class="fold__summary">
                <span class="fold__name">{title}</span>
                <span class="fold__state">{heading}</span>
            </summary>
            <Show when=move || open.get()>
                {move || side.with(|side| side.answers.get(index).map(|answer| sheet(side, answer, state().unit.get())))}
                {(id == "ju-2026").then(story_view)}
            </Show>
        </details>
    }
    .into_any()
}

fn sheet(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> AnyView {
    view! {
        <div class="fold__body methods__sheet">
            {answer.covered.then(|| formulas(side, answer, unit))}
            {answer.covered.then(|| differences(answer))}
            <p class="methods__line"><b>"How many GPUs. "</b> {answer.gpus.reason.clone()}</p>
            {list("What it does not cover for this scenario", answer.not_covered.iter().map(|text| sentence(text)).collect())}
            {list("To know about its numbers", answer.remarks.clone())}
        </div>
    }
    .into_any()
}

/// The document's lines: formula, numbers, result.
fn formulas(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> AnyView {
    let lines = formula_lines(side, answer, unit).into_iter().map(|line| {
        let note = (!line.note.is_empty()).then(|| view! { <span class="ledger__note">{line.note}</span> });
        view! {
            <tr>
                <th scope="row">{line.kind} {note}</th>
                <td class="methods__formula">{line.formula}</td>
                <td class="methods__formula">{line.numbers}</td>
                <td class="num">{line.result}</td>
            </tr>
        }
    });
    wide("How it counts", answer.title, &["Part", "Formula", "With these numbers, in bytes", "Result"], lines.views().into_any())
}

/// Every difference with its reason.
fn differences(answer: &MethodAnswer) -> AnyView {
    if answer.differences.is_empty() {
        return view! { <p class="methods__line">"It agrees with the engine in every part."</p> }.into_any();
    }
    let rows = answer.differences.iter().map(|difference| {
        view! {
            <tr>
                <th scope="row">{difference.term}</th>
                <td class="num">{difference.says.clone()}</td>
                <td class="num">{difference.engine_says.clone()}</td>
                <td class="methods__why">{difference.why.clone()}</td>
            </tr>
        }
    });
    wide(
        "Where it differs from the engine",
        answer.title,
        &["Part", "It says", "The engine says", "Why"],
        rows.views().into_any(),
    )
}

/// A heading and a table that scrolls by itself where it is too wide.
fn wide(heading: &'static str, of: &str, columns: &'static [&'static str], rows: AnyView) -> AnyView {
    view! {
        <h3>{heading}</h3>
        <div class="methods__scroll" tabindex="0" role="region" aria-label=format!("{of}: {heading}")>
            <table class="table">
                <thead><tr>{columns.iter().map(|column| view! { <th scope="col">{*column}</th> }).views()}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// A heading and a list; nothing where the list is empty.
fn list(heading: &'static str, items: Vec<String>) -> Option<AnyView> {
    let filled = !items.is_empty();
    filled.then(|| {
        let items = items.into_iter().map(|item| view! { <li>{item}</li> }).views();
        view! { <h3>{heading}</h3> <ul class="methods__list">{items}</ul> }.into_any()
    })
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_ascii_uppercase(), letters.as_str()))
}

/// The first document's own example, from 924 GPUs that cannot exist to 8 that can.
fn story_view() -> AnyView {
    let rows = story().into_iter().map(story_row).views().into_any();
    view! {
        <div class="fold__body methods__sheet" data-testid="methods-story">
            {wide(
                "Its own example: from 924 GPUs to 8",
                "Li Ju 2026",
                &["Switched on, one after the other", "Printed", "By division", "Smallest that runs", "With accumulation", "What stands in the way"],
                rows,
            )}
            <p class="quiet methods__line">
                "A model of 7 billion parameters, 128 sequences of 4096 tokens, A100 with 40 GB (decimal, as the document reckons). "
                "Accumulation means one sequence at a time on each rank."
            </p>
        </div>
    }
    .into_any()
}

fn story_row(step: StoryStep) -> impl IntoView {
    let count = |count: Option<u64>, otherwise: &str| count.map_or_else(|| otherwise.to_owned(), whole);
    let runnable = step.runnable.map_or_else(|| "none".to_owned(), gpus);
    view! {
        <tr>
            <th scope="row">{step.title}</th>
            <td class="num">{count(step.stated, "–")}</td>
            <td class="num">{count(step.arithmetic, "none")}</td>
            <td class="num"><b>{runnable}</b></td>
            <td class="num">{count(step.runnable_with_accumulation, "none")}</td>
            <td class="methods__why">{step.sentence}</td>
        </tr>
    }
}
