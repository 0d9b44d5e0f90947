//! Five documents, five answers: the engine and the five methods side by side, with the reason for every difference.

use crate::app::markup::{Html, Piece, html};
use crate::app::side::{Cell, DOCUMENTS, Row, Side, Tone, formula_lines, summary, table};
use crate::app::words::{gpus, whole};
use crate::charts;
use crate::config::Job;
use crate::estimator::estimate;
use crate::methods::{MethodAnswer, StoryStep, story};
use crate::planner::gpu_count;
use crate::units::MemoryUnit;

/// Ids of the kinds' swatches in this table.
const SWATCHES: [&str; 7] = ["doc-p", "doc-g", "doc-o", "doc-a", "doc-k", "doc-t", "doc-f"];

/// The panel: one table for all, one sheet for each document. Amounts are written in `unit`.
pub fn panel(job: &Job, unit: MemoryUnit) -> Html {
    let estimate = estimate(job);
    let side = Side::of(job, &estimate, unit);
    let rows = table(&side, &estimate, &gpu_count(job, unit), unit);
    let sheets: Html = DOCUMENTS.iter().zip(&side.answers).map(|(names, answer)| document(&side, *names, answer, unit)).collect();
    html("{}<div class=\"folds\">{}</div>", &[&side_by_side(&rows, unit), &sheets])
}

fn side_by_side(rows: &[Row], unit: MemoryUnit) -> Html {
    let heads: Html = DOCUMENTS.iter().map(|(_, title)| html("<th scope=\"col\" class=\"num\">{}</th>", &[title])).collect();
    let rows: Html = rows.iter().map(row).collect();
    html(
        "<div class=\"methods__scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Engine and documents side by side\">\
         <table class=\"table methods__table\"><thead><tr>\
         <th scope=\"col\" class=\"methods__name\">Memory per GPU, {}</th>\
         <th scope=\"col\" class=\"num methods__engine\">Engine</th>{}</tr></thead><tbody>{}</tbody></table></div>",
        &[&unit.name(), &heads, &rows],
    )
}

fn row(row: &Row) -> Html {
    let swatch = row.kind.and_then(|kind| SWATCHES.get(kind.index()).map(|id| charts::swatch(id, kind.index())));
    let swatch = swatch.map(|svg| html("<span class=\"swatch\">{}</span> ", &[&Html::made(svg)]));
    let cells: Html = row.cells.iter().enumerate().map(|(index, each)| cell(index == 0, each)).collect();
    html(
        "<tr class=\"{}\" data-testid=\"methods-row-{}\"><th scope=\"row\" class=\"methods__name\">\
         <span class=\"methods__label\">{}{}</span></th>{}</tr>",
        &[&if row.id == "total" { "table__total" } else { "" }, &row.id, &swatch, &row.label, &cells],
    )
}

fn cell(engine: bool, cell: &Cell) -> Html {
    let tone = match cell.tone {
        Tone::Plain => "num",
        Tone::Good => "num methods__good",
        Tone::Bad => "num methods__bad",
        Tone::Quiet => "num quiet",
        Tone::Prose => "methods__prose",
    };
    html("<td class=\"{}{}\">{}</td>", &[&tone, &if engine { " methods__engine" } else { "" }, &cell.text])
}

/// One document's sheet, folded.
fn document(side: &Side, (id, title): (&'static str, &'static str), answer: &MethodAnswer, unit: MemoryUnit) -> Html {
    html(
        "<details class=\"fold\" data-testid=\"methods-{}\"><summary class=\"fold__summary\">\
         <span class=\"fold__name\">{}</span><span class=\"fold__state\">{} · {}</span></summary>{}{}</details>",
        &[&id, &title, &summary(answer), &answer.document, &sheet(side, answer, unit), &(id == "ju-2026").then(own_example)],
    )
}

fn sheet(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> Html {
    let not_covered: Vec<String> = answer.not_covered.iter().map(|text| sentence(text)).collect();
    html(
        "<div class=\"fold__body methods__sheet\">{}{}<p class=\"methods__line\"><b>How many GPUs. </b>{}</p>{}{}</div>",
        &[
            &answer.covered.then(|| formulas(side, answer, unit)),
            &answer.covered.then(|| differences(answer)),
            &answer.gpus.reason,
            &list("What it does not cover for this scenario", &not_covered),
            &list("To know about its numbers", &answer.remarks),
        ],
    )
}

/// The document's lines: formula, numbers, result.
fn formulas(side: &Side, answer: &MethodAnswer, unit: MemoryUnit) -> Html {
    let lines = formula_lines(side, answer, unit);
    let rows: Html = lines
        .iter()
        .map(|line| {
            let note = (!line.note.is_empty()).then(|| html(" <span class=\"ledger__note\">{}</span>", &[&line.note]));
            html(
                "<tr><th scope=\"row\">{}{}</th><td class=\"methods__formula\">{}</td><td class=\"methods__formula\">{}</td>\
                 <td class=\"num\">{}</td></tr>",
                &[&line.kind, &note, &line.formula, &line.numbers, &line.result],
            )
        })
        .collect();
    wide("How it counts", answer.title, &["Part", "Formula", "With these numbers, in bytes", "Result"], &rows)
}

/// Every difference with its reason.
fn differences(answer: &MethodAnswer) -> Html {
    if answer.differences.is_empty() {
        return html("<p class=\"methods__line\">It agrees with the engine in every part.</p>", &[]);
    }
    let rows: Html = answer
        .differences
        .iter()
        .map(|difference| {
            html(
                "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"methods__why\">{}</td></tr>",
                &[&difference.term, &difference.says, &difference.engine_says, &difference.why],
            )
        })
        .collect();
    wide("Where it differs from the engine", answer.title, &["Part", "It says", "The engine says", "Why"], &rows)
}

/// A heading and a table that scrolls by itself where it is too wide.
fn wide(heading: &str, of: &str, columns: &[&str], rows: &dyn Piece) -> Html {
    let columns: Html = columns.iter().map(|column| html("<th scope=\"col\">{}</th>", &[column])).collect();
    html(
        "<h3>{}</h3><div class=\"methods__scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}: {}\">\
         <table class=\"table\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
        &[&heading, &of, &heading, &columns, rows],
    )
}

/// A heading and a list; nothing where the list is empty.
fn list(heading: &str, items: &[String]) -> Option<Html> {
    (!items.is_empty()).then(|| {
        let items: Html = items.iter().map(|item| html("<li>{}</li>", &[item])).collect();
        html("<h3>{}</h3><ul class=\"methods__list\">{}</ul>", &[&heading, &items])
    })
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_ascii_uppercase(), letters.as_str()))
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
    html(
        "<div class=\"fold__body methods__sheet\" data-testid=\"methods-story\">{}<p class=\"quiet methods__line\">\
         A model of 7 billion parameters, 128 sequences of 4096 tokens, A100 with 40 GB (decimal, as the document reckons). \
         Accumulation means one sequence at a time on each rank.</p></div>",
        &[&wide("Its own example: from 924 GPUs to 8", "Li Ju 2026", &COLUMNS, &rows)],
    )
}

fn step(step: &StoryStep) -> Html {
    let count = |count: Option<u64>, otherwise: &str| count.map_or_else(|| otherwise.to_owned(), whole);
    html(
        "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\"><b>{}</b></td>\
         <td class=\"num\">{}</td><td class=\"methods__why\">{}</td></tr>",
        &[
            &step.title,
            &count(step.stated, "–"),
            &count(step.arithmetic, "none"),
            &step.runnable.map_or_else(|| "none".to_owned(), gpus),
            &count(step.runnable_with_accumulation, "none"),
            &step.sentence,
        ],
    )
}
