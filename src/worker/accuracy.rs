//! How well the engine meets what was measured: the table that `cargo xtask accuracy --write`
//! keeps, and the rows furthest off.

use serde::Deserialize;

use crate::view::markup::{Html, html};
use crate::view::words::whole;

/// The README's section on the same, beside the page.
const METHOD: &str = "./README.md#how-well-it-is-checked";

/// The tables that the accuracy command writes for the page.
#[derive(Debug, Default, Deserialize)]
struct Accuracy {
    lines: Vec<Line>,
    worst: Vec<Furthest>,
}

/// One stack, or one kind of figure.
#[derive(Debug, Deserialize)]
struct Line {
    what: String,
    against: String,
    rows: u64,
    unsupported: u64,
    /// Median, nine tenths, largest error; empty texts where no row states the figure.
    activations: [String; 3],
    peak: [String; 3],
    exact: String,
}

/// The rows of one kind that are furthest off.
#[derive(Debug, Deserialize)]
struct Furthest {
    kind: String,
    rows: Vec<Worst>,
}

/// A row that is furthest off, in words, with its source and that source's address.
#[derive(Debug, Deserialize)]
struct Worst {
    row: String,
    source: String,
    address: Option<String>,
    figure: String,
    ours: String,
    measured: String,
    error: String,
}

/// The panel: how it was measured, one row for each stack, the rows furthest off.
pub fn panel() -> Html {
    // The file is part of the program, and a test reads it.
    let accuracy: Accuracy =
        serde_json::from_str(include_str!("../../tools/accuracy/accuracy.json"))
            .unwrap_or_default();
    let rows: Html = accuracy.lines.iter().map(line).collect();
    let worst: Html = accuracy.worst.iter().map(furthest).collect();
    html! {
        p class="accuracy__how" {
            "Every row is a run that somebody measured or published. The engine answers the same \
             job without having seen the result, and the difference is told as a share of the \
             measured figure: the middle one, the one that nine in ten stay under, and the \
             largest. "
            a class="link" href=(METHOD) { "How it is checked, in the README" }
        }
        div class="methods__scroll accuracy" tabindex="0" role="region"
            aria-label="Errors by stack" {
            table class="table" data-testid="accuracy-table" {
                thead {
                    tr {
                        th scope="col" rowspan="2" { "What, against what" }
                        th scope="col" rowspan="2" { "Rows" }
                        th scope="col" rowspan="2" { "Not expressed" }
                        th scope="colgroup" colspan="3" { "Saved activations" }
                        th scope="colgroup" colspan="3" { "Peak" }
                        th scope="col" rowspan="2" { "Met to the unit" }
                    }
                    tr { (spread_heads()) (spread_heads()) }
                }
                tbody { (rows) }
            }
        }
        h3 { "The rows furthest off" }
        div class="methods__scroll accuracy" tabindex="0" role="region"
            aria-label="The rows furthest off" {
            table class="table" data-testid="accuracy-worst" {
                thead {
                    tr {
                        th scope="col" { "What was run, and who says so" }
                        th scope="col" { "Figure" }
                        th scope="col" class="num" { "Headroom" }
                        th scope="col" class="num" { "Measured" }
                        th scope="col" class="num" { "Off by" }
                    }
                }
                (worst)
            }
        }
    }
}

fn spread_heads() -> Html {
    ["median", "90 %", "max"].iter().map(|name| html! { th scope="col" { (name) } }).collect()
}

fn line(line: &Line) -> Html {
    let unsupported = if line.unsupported == 0 { String::new() } else { whole(line.unsupported) };
    html! {
        tr {
            th scope="row" {
                (line.what)
                " "
                span class="ledger__note" { (line.against) }
            }
            td class="num" { (whole(line.rows)) }
            (cell(&unsupported))
            @for error in line.activations.iter().chain(&line.peak) { (cell(error)) }
            td { (line.exact) }
        }
    }
}

/// A figure, or a dash where there is none.
fn cell(text: &str) -> Html {
    html! { td class="num" { (if text.is_empty() { "–" } else { text }) } }
}

/// The rows of one kind under its name.
fn furthest(furthest: &Furthest) -> Html {
    html! {
        tbody {
            tr { th scope="rowgroup" colspan="5" { (furthest.kind) } }
            @for item in &furthest.rows { (worst_row(item)) }
        }
    }
}

fn worst_row(worst: &Worst) -> Html {
    let source = match &worst.address {
        Some(address) => html! {
            a class="link" href=(address) rel="noreferrer" { (worst.source) }
        },
        None => html! { (worst.source) },
    };
    html! {
        tr {
            th scope="row" {
                (worst.row)
                " "
                span class="ledger__note" { (source) }
            }
            td { (worst.figure) }
            td class="num" { (worst.ours) }
            td class="num" { (worst.measured) }
            td class="num" { (worst.error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Accuracy, panel};
    use crate::view::panels::tests::{count, text};

    #[test]
    fn every_line_and_every_worst_row_of_the_file_is_shown() {
        let accuracy: Accuracy =
            serde_json::from_str(include_str!("../../tools/accuracy/accuracy.json"))
                .expect("the accuracy file");
        assert!(!accuracy.lines.is_empty() && !accuracy.worst.is_empty());
        let panel = panel();
        let worst: Vec<_> = accuracy.worst.iter().flat_map(|furthest| &furthest.rows).collect();
        assert_eq!(count(&panel, "<tr><th scope=\"row\">"), accuracy.lines.len() + worst.len());
        let words = text(&panel);
        for line in &accuracy.lines {
            assert!(words.contains(&line.what), "{}", line.what);
            assert_eq!(
                line.activations[0].is_empty(),
                line.activations[2].is_empty(),
                "{}",
                line.what
            );
        }
        for worst in worst {
            assert!(words.contains(&worst.row) && words.contains(&worst.error), "{}", worst.row);
        }
    }

    /// The table above admits the largest error of a time; the rows below it begin with that row.
    #[test]
    fn the_rows_furthest_off_are_those_that_the_table_admits() {
        let accuracy: Accuracy =
            serde_json::from_str(include_str!("../../tools/accuracy/accuracy.json"))
                .expect("the accuracy file");
        let kinds: Vec<_> = accuracy
            .worst
            .iter()
            .map(|furthest| (furthest.kind.as_str(), furthest.rows.len()))
            .collect();
        assert_eq!(kinds, [("Time", 5), ("Memory and counts", 5), ("Memory under frameworks", 5)]);
        let largest = |text: &str| -> f64 {
            let number: String =
                text.chars().filter(|it| it.is_ascii_digit() || *it == '.').collect();
            number.parse().expect(text)
        };
        let admitted = accuracy
            .lines
            .iter()
            .filter_map(|line| line.exact.split_once("step time of ")?.1.rsplit_once("largest "));
        let admitted = admitted.map(|(_, error)| largest(error)).fold(0.0, f64::max);
        assert!((largest(&accuracy.worst[0].rows[0].error) - admitted).abs() < 0.1, "{admitted}");
        // The lines of frameworks are met by the last list, those of everything else by the one
        // before. A framework's row may be furthest off in allocated or in reserved memory.
        let of_frameworks = |line: &super::Line| {
            line.against.starts_with("allocated, ") || line.what.contains("published, where")
        };
        let reserved = |line: &super::Line| {
            let figures = line.exact.split(", step time").next()?.strip_prefix("reserved of ")?;
            Some(largest(figures.split_once("largest ")?.1))
        };
        for (at, frameworks) in [(1, false), (2, true)] {
            let lines: Vec<_> =
                accuracy.lines.iter().filter(|line| of_frameworks(line) == frameworks).collect();
            let stated = lines.iter().flat_map(|line| [&line.activations[2], &line.peak[2]]);
            let stated = stated.filter(|error| !error.is_empty()).map(|error| largest(error));
            let reserved = lines.iter().filter_map(|line| reserved(line));
            let admitted = stated.chain(reserved).fold(0.0, f64::max);
            assert!(
                (largest(&accuracy.worst[at].rows[0].error) - admitted).abs() < 0.001,
                "{admitted}"
            );
        }
    }

    #[test]
    fn a_row_is_called_by_words_and_linked_to_its_source() {
        let accuracy: Accuracy =
            serde_json::from_str(include_str!("../../tools/accuracy/accuracy.json"))
                .expect("the accuracy file");
        for worst in accuracy.worst.iter().flat_map(|furthest| &furthest.rows) {
            assert!(
                worst.row.contains(' ') && !worst.row.contains("megatron_golden"),
                "{}",
                worst.row
            );
            let Some(address) = worst.address.as_deref() else {
                let ours = ["tests/data/cuda/README.md", "tests/data/README.md"];
                assert!(ours.iter().any(|file| worst.source.ends_with(file)), "{}", worst.source);
                continue;
            };
            let from_hub = ["https://github.com/", "https://gist.github.com/"]
                .iter()
                .any(|hub| address.starts_with(hub));
            assert!(from_hub && panel().as_str().contains(address), "{address}");
        }
    }
}
