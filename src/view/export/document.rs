//! The whole answer as a Markdown document: what the command line prints, with headings and tables.

use super::tables::answers;
use super::{Luggage, no_answer};
use crate::view::compared::{self, ComparedCell, LETTERS};
use crate::view::device::{ReservedPart, Shown};
use crate::view::panels::printed;
use crate::view::report::{LedgerRow, Report};
use crate::view::words::{about, per_cent};

/// The document.
///
/// # Errors
/// As [`super::file`].
pub(super) fn markdown(luggage: &Luggage) -> Result<String, String> {
    let scenario = &luggage.scenario;
    let job = scenario.resolve().map_err(|_| no_answer())?;
    let report = Report::of(scenario, &job, None).with_device(scenario, &job);
    let mut out = Document::default();
    let name = scenario.name();
    let title =
        if name.is_empty() { about(scenario) } else { format!("{name}: {}", about(scenario)) };
    out.line(&format!("# {}", escaped(&title)));
    out.line(&format!("**{}** {}", report.headline(), report.margin()));
    // Names of keys are the only text from outside in a remark, and have no mark that Markdown
    // knows.
    for remark in &report.remarks {
        out.line(&remark.text);
    }
    for sentence in report.blockers() {
        out.line(&sentence);
    }
    out.line("## Where the memory goes");
    out.table(
        &["Peak memory of the most loaded GPU", report.unit.name(), "share"],
        report.ledger().iter().map(ledger_row),
    );
    out.line(&report.peak());
    device(&mut out, &report);
    out.line("## How many GPUs");
    out.line(&report.counts());
    time(&mut out, &report);
    if !luggage.compare.is_empty() {
        compare(&mut out, luggage)?;
    }
    out.line("## Inputs");
    let inputs = printed::inputs(scenario);
    out.table(
        &["Input", "value", "unit"],
        inputs.iter().map(|(name, value, unit)| vec![escaped(name), escaped(value), escaped(unit)]),
    );
    out.line("---");
    out.line(&format!("Link: {}", luggage.link()));
    out.line(
        format!("Headroom {} {}", env!("CARGO_PKG_VERSION"), escaped(&luggage.when)).trim_end(),
    );
    Ok(out.0.trim_end().to_owned() + "\n")
}

fn ledger_row(row: &LedgerRow) -> Vec<String> {
    let strong = |text: &str| if row.is_sum { format!("**{text}**") } else { text.to_owned() };
    vec![strong(&escaped(&row.label)), strong(&row.amount), row.share.clone()]
}

/// Memory as the GPU shows it, or why that is not known.
fn device(out: &mut Document, report: &Report) {
    out.line("## On the GPU");
    let device = match &report.device {
        Some(Ok(device)) => device,
        Some(Err(reason)) => return out.line(&reason.to_string()),
        None => return,
    };
    let unit = device.scale.unit.name();
    let line = |line: Shown| vec![escaped(line.label), line.amount, escaped(line.seen)];
    out.table(&["Memory", unit, "as shown by"], device.shown().into_iter().map(line));
    let part = |part: ReservedPart| vec![escaped(part.label), part.amount, escaped(part.why)];
    out.table(&["Held by PyTorch at the peak", unit, "why"], device.parts().into_iter().map(part));
    for sentence in [Some(device.sentence()), device.growing_segments()].into_iter().flatten() {
        out.line(&sentence);
    }
}

fn time(out: &mut Document, report: &Report) {
    out.line("## Time, cost and energy");
    if let Some(sentence) = report.compute() {
        out.line(&sentence);
    }
    let terms = report.terms();
    if !terms.is_empty() {
        let row = |term: &crate::view::timing::ShownTerm| {
            vec![escaped(term.label), term.time.clone(), per_cent(term.share)]
        };
        out.table(&["One step", "time", "share"], terms.iter().map(row));
    }
    if !report.facts.is_empty() {
        let row = |(name, value, note): &crate::view::timing::Fact| {
            vec![escaped(name), escaped(value), escaped(note)]
        };
        out.table(&["What follows", "value", "note"], report.facts.iter().map(row));
    }
    for remark in report.caveats() {
        out.line(remark);
    }
}

fn compare(out: &mut Document, luggage: &Luggage) -> Result<(), String> {
    let lines = compared::lines(&luggage.scenario, &answers(luggage)?);
    out.line("## Compared");
    let letters = LETTERS.get(..luggage.compare.len()).unwrap_or_default();
    let head: Vec<&str> = ["What differs", "A"].iter().chain(letters).copied().collect();
    let cell = |ComparedCell { text, more }: &ComparedCell| {
        let more = more.as_ref().map(|more| format!(" ({more})")).unwrap_or_default();
        escaped(&format!("{text}{more}"))
    };
    out.table(
        &head,
        lines.iter().map(|line| {
            let start = [escaped(&line.name), escaped(&line.shown)];
            start.into_iter().chain(line.others.iter().map(cell)).collect()
        }),
    );
    Ok(())
}

/// Text in which nothing is taken for markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Markdown as it grows.
#[derive(Default)]
struct Document(String);

impl Document {
    /// A line or a paragraph with an empty line behind it.
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push_str("\n\n");
    }

    /// A table; texts that came from outside are escaped already.
    fn table(&mut self, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.row(head.iter().copied());
        let number = |at: usize| if at == 0 { "---" } else { "---:" };
        self.row((0..head.len()).map(number));
        for row in rows {
            self.row(row.iter().map(String::as_str));
        }
        self.0.push('\n');
    }

    fn row<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        self.0.push('|');
        for cell in cells {
            self.0.push(' ');
            self.0.push_str(cell);
            self.0.push_str(" |");
        }
        self.0.push('\n');
    }
}
