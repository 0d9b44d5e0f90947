//! `cargo xtask accuracy FILE…`: the library against measured and published figures.
//!
//! Rows are recognised by what they hold, not by the file's name: lines of JSON or one JSON list,
//! in the formats of PyTorch's memory tracker rows (memory, LoRA, parameters, FLOPs), of its own
//! CUDA allocator on a pretended GPU, and of published tables (parameter counts, Megatron-LM, cache
//! sizes). Every row is run through the public library. A row that the library cannot express is
//! counted with its reason, and a field that is absent makes a row such a row.
//!
//! Exit code 0: the table is printed; 2: a file or an argument cannot be read.

mod field;
mod megatron;
mod naming;
mod pretend;
mod published;
mod report;
mod row;
mod serving;
mod serving_speed;
mod speed;
mod statistics;
mod summary;
mod tracker;
mod truth;
mod tuning;

use std::fs;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::Value;

use report::File;
use row::{Fields, Row};

const HELP: &str = "\
accuracy: how close do Headroom's estimates come to what was measured or published?

usage: cargo xtask accuracy FILE... [--differences | --json [--rows] | --markdown | --page]

FILE...        files of measured and published figures, such as those under tests/data
--differences  for people, with every row's differences
--json         machine-readable
--rows         machine-readable, with every row's figures
--markdown     the short table of the README
--page         the short table and the rows furthest off, as the page reads them

exit code: 0 the table is printed, 2 bad input";

/// In which form the table is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// For people, with groups and worst rows.
    Text {
        /// True if every row's differences are listed.
        differences: bool,
    },
    /// The text's figures as JSON; with every row's figures if `rows`.
    Json {
        /// True if every row is listed.
        rows: bool,
    },
    /// The short table of the README.
    Markdown,
    /// The short table and the worst rows, as the page reads them.
    Page,
}

enum Task {
    Help,
    Compare { files: Vec<String>, form: Form },
}

fn arguments() -> Result<Task, String> {
    use lexopt::Arg::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_env();
    let (mut files, mut form, mut rows) = (Vec::new(), Form::Text { differences: false }, false);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Short('h') | Long("help") => return Ok(Task::Help),
            Long("differences") => form = Form::Text { differences: true },
            Long("json") => form = Form::Json { rows: false },
            Long("rows") => rows = true,
            Long("markdown") => form = Form::Markdown,
            Long("page") => form = Form::Page,
            Value(path) => files.push(path.to_string_lossy().into_owned()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(Task::Compare { files, form: if rows { Form::Json { rows } } else { form } })
}

fn main() -> ExitCode {
    match arguments() {
        Ok(Task::Help) => print(HELP),
        Ok(Task::Compare { files, form }) => match table(&files, form) {
            Ok(table) => print(&table),
            Err(sentence) => bad_input(&[&sentence]),
        },
        Err(sentence) => bad_input(&[&sentence, "try cargo xtask accuracy --help"]),
    }
}

fn print(text: &str) -> ExitCode {
    // A reader that has closed the pipe has read enough.
    let _ = writeln!(std::io::stdout(), "{text}");
    ExitCode::SUCCESS
}

fn bad_input(sentences: &[&str]) -> ExitCode {
    for sentence in sentences {
        // Nothing is left to do if even the error stream is closed.
        let _ = writeln!(std::io::stderr(), "{sentence}");
    }
    ExitCode::from(2)
}

/// The table of the given files, or one sentence that says which cannot be read.
fn table(paths: &[String], form: Form) -> Result<String, String> {
    if paths.is_empty() {
        return Err(
            "name at least one file of measured rows, for example tests/data/training_memory.jsonl"
                .to_owned(),
        );
    }
    let files = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(match form {
        Form::Text { differences } => report::text(&files, differences),
        Form::Json { rows } => format!("{:#}", report::json(&files, rows)),
        Form::Markdown => summary::markdown(&files).trim_end().to_owned(),
        Form::Page => format!("{:#}", summary::page(&files)),
    })
}

fn read(path: &str) -> Result<File, String> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let rows = rows(&text).map_err(|problem| format!("{path}: {problem}"))?;
    let names = rows.iter().map(|row| naming::named(Fields(row))).collect();
    Ok(File {
        path: path.to_owned(),
        rows: rows.iter().enumerate().map(|(index, row)| run_row(index, row)).collect(),
        names,
    })
}

/// The rows of a JSON list or of lines of JSON.
fn rows(text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text)
            .map_err(|error| format!("this is no list of rows: {error}"));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))
        })
        .collect()
}

/// Finds the kind of a row and runs it.
fn run_row(index: usize, row: &Value) -> Row {
    let fields = Fields(row);
    let has = |pointer: &str| row.pointer(pointer).is_some();
    if pretend::is_pretended(fields) {
        pretend::pretended(index, fields)
    } else if serving_speed::is_serving_speed(fields) {
        serving_speed::serving_speed(index, fields)
    } else if field::is_field(fields) {
        field::field(index, fields)
    } else if speed::is_speed(fields) {
        speed::speed(index, fields)
    } else if has("/run") || has("/measured") {
        truth::memory(index, fields)
    } else if has("/forward_flops") || has("/backward_flops") {
        truth::flops(index, fields)
    } else if has("/config_verified") || has("/formula_total") {
        published::model(index, fields)
    } else if has("/measured_peak_allocated_gib") {
        megatron::b200(index, fields)
    } else if has("/parameter_and_optimizer_gib") {
        megatron::selene(index, fields)
    } else if has("/parameters") && has("/config") {
        truth::parameters(index, fields)
    } else if has("/family") {
        megatron::training_memory(index, fields)
    } else if has("/kind") {
        serving::serving(index, fields)
    } else {
        let outcome = Err("this is no row of a known format".to_owned());
        Row { id: format!("row {}", index + 1), groups: Vec::new(), outcome, without: Vec::new() }
    }
}

/// The row's own id, or its model and place.
fn id(index: usize, row: Fields<'_>) -> String {
    let name = || row.text("/model").or_else(|_| row.text("/name"));
    row.text("/id")
        .map(str::to_owned)
        .or_else(|_| name().map(|name| format!("{name} ({})", index + 1)))
        .unwrap_or_else(|_| format!("row {}", index + 1))
}
