//! `headroom read FILE…` and `headroom write LINK --as TOOL`: commands and files of other tools.

use std::process::ExitCode;

use headroom::launch::{Format, MAX_BYTES, Pasted, Row, write};
use headroom::scenario::{Scenario, codec};
use headroom::view::anything::{Understood, answer, report, understood};
use headroom::view::launching::{in_order, remedies, summary};
use headroom::view::report::Report;

use crate::files::text_of;

/// One byte more than is read, so that a longer text is refused and not cut.
pub const MOST_BYTES: u64 = MAX_BYTES as u64 + 1;

/// The text to print and the exit code.
pub type CommandOutcome = Result<(String, ExitCode), Vec<String>>;

/// Reads a command or file together with the files that it refers to, and gives its link, its
/// report and its answer. `-` reads standard input.
pub fn read_files(files: &[String], present: &Scenario, as_json: bool) -> CommandOutcome {
    let text_of =
        |file: &String| text_of(file, MOST_BYTES, "the command").map_err(|sentence| vec![sentence]);
    let texts = files.iter().map(text_of).collect::<Result<Vec<_>, _>>()?;
    let pasted = files
        .iter()
        .zip(&texts)
        .map(|(file, text)| Pasted { name: if file == "-" { "" } else { file }, text });
    let pasted: Vec<Pasted<'_>> = pasted.collect();
    let understood = understood(&pasted, present)?;
    let report = report(&understood)?;
    let code = if report.runs() { ExitCode::SUCCESS } else { ExitCode::from(1) };
    let text =
        if as_json { answer(&understood)?.to_string() } else { as_text(&understood, &report) };
    Ok((text, code))
}

/// Writes a scenario as a command or file of a tool.
pub fn write_as(scenario: &Scenario, tool: &str) -> CommandOutcome {
    let format = Format::writable().find(|format| format.key == tool).ok_or_else(|| {
        let keys: Vec<&str> = Format::writable().map(|format| format.key).collect();
        vec![format!("--as knows no `{tool}`: there are {}", keys.join(", "))]
    })?;
    Ok((write(scenario, format).text, ExitCode::SUCCESS))
}

/// Every tool whose commands or files are read, a line each: its key, its version, and whether it
/// is also written.
pub fn formats() -> String {
    let line = |format: Format| {
        let ways = if format.write.is_some() { "read, written" } else { "read" };
        format!("{:<18} {ways:<14} {} ({})", format.key, format.label, format.version)
    };
    Format::ALL.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn row(row: &Row) -> String {
    let place = row.place.map_or_else(String::new, |place| format!("line {}", place.line));
    let value = row.value.replace('\n', " ");
    format!("  {:<19} {:<10} {} = {}  {}", row.way.word(), place, row.flag, value, row.note)
        .trim_end()
        .to_owned()
}

fn as_text(understood: &Understood, report: &Report) -> String {
    let link = codec::encode(&understood.scenario);
    let answer = report.text(&understood.notices);
    let Some(launched) = &understood.launched else {
        return format!("{link}\n\n{}", answer.trim_end());
    };
    let rows: Vec<String> = in_order(launched).into_iter().map(row).collect();
    let remedies: Vec<String> = remedies(&launched.scenario, launched.format)
        .iter()
        .map(|remedy| format!("  {}: {}", remedy.title, remedy.in_words()))
        .collect();
    let helps = if remedies.is_empty() {
        String::new()
    } else {
        format!("\n\nTo make it fit\n{}", remedies.join("\n"))
    };
    format!("{link}\n{}\n{}\n\n{}{helps}", summary(launched), rows.join("\n"), answer.trim_end())
}
