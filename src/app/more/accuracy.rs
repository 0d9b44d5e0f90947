//! How well the engine meets what was measured: the table that `cargo xtask accuracy --write` keeps, and the rows furthest off.

use serde::Deserialize;

use crate::app::markup::{Html, html};
use crate::app::words::whole;

/// The README's section on the same, beside the page.
const METHOD: &str = "./README.md#how-well-it-is-checked";

/// What the accuracy command writes for the page.
#[derive(Debug, Default, Deserialize)]
struct Accuracy {
    lines: Vec<Line>,
    worst: Vec<Worst>,
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

/// A row that is furthest off.
#[derive(Debug, Deserialize)]
struct Worst {
    row: String,
    of: String,
    figure: String,
    error: String,
}

/// The panel: how it was measured, one row for each stack, the rows furthest off.
pub fn panel() -> Html {
    // The file is part of the program, and a test reads it.
    let accuracy: Accuracy = serde_json::from_str(include_str!("../accuracy.json")).unwrap_or_default();
    let rows: Html = accuracy.lines.iter().map(line).collect();
    let worst: Html = accuracy.worst.iter().map(worst_row).collect();
    html(
        "<p class=\"accuracy__how\">Every row is a run that somebody measured or published. The engine answers the same job without \
         having seen the result, and the difference is told as a share of the measured figure: the middle one, the one that nine in \
         ten stay under, and the largest. <a class=\"link\" href=\"{}\">How it is checked, in the README</a></p>\
         <div class=\"methods__scroll accuracy\" tabindex=\"0\" role=\"region\" aria-label=\"Errors by stack\">\
         <table class=\"table\" data-testid=\"accuracy-table\"><thead>\
         <tr><th scope=\"col\" rowspan=\"2\">What, against what</th><th scope=\"col\" rowspan=\"2\">Rows</th>\
         <th scope=\"col\" rowspan=\"2\">Not expressed</th><th scope=\"colgroup\" colspan=\"3\">Saved activations</th>\
         <th scope=\"colgroup\" colspan=\"3\">Peak</th><th scope=\"col\" rowspan=\"2\">Met to the unit</th></tr>\
         <tr>{}{}</tr></thead><tbody>{}</tbody></table></div><h3>The rows furthest off</h3>\
         <div class=\"methods__scroll accuracy\" tabindex=\"0\" role=\"region\" aria-label=\"The rows furthest off\">\
         <table class=\"table\" data-testid=\"accuracy-worst\"><thead><tr><th scope=\"col\">Row</th><th scope=\"col\">Of</th>\
         <th scope=\"col\">Figure</th><th scope=\"col\">Off by</th></tr></thead><tbody>{}</tbody></table></div>",
        &[&METHOD, &spread_heads(), &spread_heads(), &rows, &worst],
    )
}

fn spread_heads() -> Html {
    ["median", "90 %", "max"].iter().map(|name| html("<th scope=\"col\">{}</th>", &[name])).collect()
}

fn line(line: &Line) -> Html {
    let cells: Html = line.activations.iter().chain(&line.peak).map(|error| cell(error)).collect();
    let unsupported = if line.unsupported == 0 { String::new() } else { whole(line.unsupported) };
    html(
        "<tr><th scope=\"row\">{} <span class=\"ledger__note\">{}</span></th><td class=\"num\">{}</td>{}{}<td>{}</td></tr>",
        &[&line.what, &line.against, &whole(line.rows), &cell(&unsupported), &cells, &line.exact],
    )
}

/// A figure, or a dash where there is none.
fn cell(text: &str) -> Html {
    html("<td class=\"num\">{}</td>", &[&if text.is_empty() { "–" } else { text }])
}

fn worst_row(worst: &Worst) -> Html {
    html(
        "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td><td class=\"num\">{}</td></tr>",
        &[&worst.row, &worst.of, &worst.figure, &worst.error],
    )
}

#[cfg(test)]
mod tests {
    use super::{Accuracy, panel};
    use crate::app::panels::tests::{count, text};

    #[test]
    fn every_line_and_every_worst_row_of_the_file_is_shown() {
        let accuracy: Accuracy = serde_json::from_str(include_str!("../accuracy.json")).expect("the accuracy file");
        assert!(!accuracy.lines.is_empty() && !accuracy.worst.is_empty());
        let panel = panel();
        assert_eq!(count(&panel, "<tr><th scope=\"row\">"), accuracy.lines.len() + accuracy.worst.len());
        let words = text(&panel);
        for line in &accuracy.lines {
            assert!(words.contains(&line.what.replace('\'', "&#39;")), "{}", line.what);
            assert_eq!(line.activations[0].is_empty(), line.activations[2].is_empty(), "{}", line.what);
        }
        for worst in &accuracy.worst {
            assert!(words.contains(&worst.row) && words.contains(&worst.error), "{}", worst.row);
        }
    }
}
