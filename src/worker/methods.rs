//! The five published formulas: the engine and the five methods side by side, with the reason for
//! every difference.

use crate::charts;
use crate::config::Job;
use crate::estimator::estimate;
use crate::methods::{MethodAnswer, StoryStep, story};
use crate::planner::gpu_count;
use crate::units::MemoryUnit;
use crate::view::markup::{Html, html};
use crate::view::side::{
    DOCUMENTS, MethodCell, MethodRow, Side, Tone, formula_lines, summary, table,
};
use crate::view::words::{gpus, whole};

/// Ids of the kinds' swatches in this table.
const SWATCHES: [&str; 7] = ["doc-p", "doc-g", "doc-o", "doc-a", "doc-k", "doc-t", "doc-f"];

/// The panel: one table for all, one sheet for each document. Amounts are written in `unit`.
pub fn panel(job: &Job, unit: MemoryUnit) -> Html {
    let estimate = estimate(job);
    let side = Side::of(job, &estimate, unit);
    let rows = table(&side, &estimate, &gpu_count(job, unit), unit);
    html! {
        (side_by_side(&rows, unit))
        div class="folds" {
            @for (names, answer) in DOCUMENTS.iter().zip(&side.answers) {
                (document(&side, *names, answer, unit))
            }
        }
    }
}

fn side_by_side(rows: &[MethodRow], unit: MemoryUnit) -> Html {
    html! {
        div class="methods__scroll" tabindex="0" role="region"
            aria-label="Engine and documents side by side" {
            table class="table methods__table" {
                thead {
                    tr {
                        th scope="col" class="methods__name" { "Memory per GPU, " (unit.name()) }
                        th scope="col" class="num methods__engine" { "Engine" }
                        @for (_, title) in &DOCUMENTS { th scope="col" class="num" { (title) } }
                    }
                }
                tbody {
                    @for item in rows { (row(item)) }
                }
            }
        }
    }
}

fn row(row: &MethodRow) -> Html {
    let swatch = row
        .kind
        .and_then(|kind| SWATCHES.get(kind.index()).map(|id| charts::swatch(id, kind.index())));
    html! {
        tr class=(if row.id == "total" { "table__total" } else { "" })
            data-testid={ "methods-row-" (row.id) } {
            th scope="row" class="methods__name" {
                span class="methods__label" {
                    @if let Some(svg) = swatch {
                        span class="swatch" { (Html::made(svg)) }
                        " "
                    }
                    (row.label)
                }
            }
            @for (index, each) in row.cells.iter().enumerate() { (cell(index == 0, each)) }
        }
    }
}

fn cell(engine: bool, cell: &MethodCell) -> Html {
    let tone = match cell.tone {
        Tone::Plain => "num",
        Tone::Good => "num methods__good",
        Tone::Bad => "num methods__bad",
        Tone::Quiet => "num quiet",
        Tone::Prose => "methods__prose",
    };
    html! { td class={ (tone) (if engine { " methods__engine" } else { "" }) } { (cell.text) } }
}

/// One document's sheet, folded.
fn document(
    side: &Side,
    (id, title): (&'static str, &'static str),
    answer: &MethodAnswer,
    unit: MemoryUnit,
) -> Html {
    html! {
        details class="fold" data-testid={ "methods-" (id) } {
            summary class="fold__summary" {
                span class="fold__name" { (title) }
                span class="fold__state" { (summary(answer)) " · " (answer.document) }
            }
            (sheet(side, answer, unit))
            @if id == "ju-2026" { (own_example()) }
        }
    }
}

fn sheet(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> Html {
    let not_covered: Vec<String> = answer.not_covered.iter().map(|text| sentence(text)).collect();
    html! {
        div class="fold__body methods__sheet" {
            @if answer.covered {
                (formulas(side, answer, unit))
                (differences(answer))
            }
            p class="methods__line" {
                b { "How many GPUs. " }
                (answer.gpus.reason)
            }
            @if let Some(list) = list("What it does not cover for this scenario", &not_covered) {
                (list)
            }
            @if let Some(list) = list("To know about its numbers", &answer.remarks) { (list) }
        }
    }
}

/// The document's lines: formula, numbers, result.
fn formulas(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> Html {
    let lines = formula_lines(side, answer, unit);
    let rows: Html = lines
        .iter()
        .map(|line| {
            html! {
                tr {
                    th scope="row" {
                        (line.kind)
                        @if !line.note.is_empty() {
                            " "
                            span class="ledger__note" { (line.note) }
                        }
                    }
                    td class="methods__formula" { (line.formula) }
                    td class="methods__formula" { (line.numbers) }
                    td class="num" { (line.result) }
                }
            }
        })
        .collect();
    wide(
        "How it counts",
        answer.title,
        &["Part", "Formula", "With these numbers, in bytes", "Result"],
        &rows,
    )
}

/// Every difference with its reason.
fn differences(answer: &MethodAnswer) -> Html {
    if answer.differences.is_empty() {
        return html! { p class="methods__line" { "It agrees with the engine in every part." } };
    }
    let rows: Html = answer
        .differences
        .iter()
        .map(|difference| {
            html! {
                tr {
                    th scope="row" { (difference.term) }
                    td class="num" { (difference.says) }
                    td class="num" { (difference.engine_says) }
                    td class="methods__why" { (difference.why) }
                }
            }
        })
        .collect();
    wide(
        "Where it differs from the engine",
        answer.title,
        &["Part", "It says", "The engine says", "Why"],
        &rows,
    )
}

/// A heading and a table that scrolls by itself where it is too wide.
fn wide(heading: &str, of: &str, columns: &[&str], rows: &Html) -> Html {
    html! {
        h3 { (heading) }
        div class="methods__scroll" tabindex="0" role="region" aria-label={ (of) ": " (heading) } {
            table class="table" {
                thead {
                    tr {
                        @for column in columns { th scope="col" { (column) } }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// A heading and a list; nothing where the list is empty.
fn list(heading: &str, items: &[String]) -> Option<Html> {
    (!items.is_empty()).then(|| {
        html! {
            h3 { (heading) }
            ul class="methods__list" {
                @for item in items { li { (item) } }
            }
        }
    })
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}.", first.to_ascii_uppercase(), letters.as_str())
    })
}

/// The first document's own example, from 924 GPUs that cannot exist to 8 that can.
fn own_example() -> Html {
    const COLUMNS: [&str; 6] = [
        "Switched on, one after the other",
        "Printed",
        "By division",
        "Smallest that runs",
        "With accumulation",
        "What stands in the way",
    ];
    let rows: Html = story().iter().map(step).collect();
    html! {
        div class="fold__body methods__sheet" data-testid="methods-story" {
            (wide("Its own example: from 924 GPUs to 8", "Li Ju 2026", &COLUMNS, &rows))
            p class="quiet methods__line" {
                "A model of 7 billion parameters, 128 sequences of 4096 tokens, A100 with 40 GB \
                 (decimal, as the document reckons). Accumulation means one sequence at a time on \
                 each rank."
            }
        }
    }
}

fn step(step: &StoryStep) -> Html {
    let count =
        |count: Option<u64>, otherwise: &str| count.map_or_else(|| otherwise.to_owned(), whole);
    html! {
        tr {
            th scope="row" { (step.title) }
            td class="num" { (count(step.stated, "–")) }
            td class="num" { (count(step.arithmetic, "none")) }
            td class="num" { b { (step.runnable.map_or_else(|| "none".to_owned(), gpus)) } }
            td class="num" { (count(step.runnable_with_accumulation, "none")) }
            td class="methods__why" { (step.sentence) }
        }
    }
}
