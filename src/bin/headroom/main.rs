//! The command line. It has the page's scenarios, engine and sentences.
//!
//! Exit code 0: it fits and can run; 1: it does not; 2: the link or an argument cannot be read.

mod arguments;
mod files;
mod import;
mod launch;
mod log;
mod oom;
mod snapshot;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::SystemTime;

use headroom::config::Job;
use headroom::lessons::figure::{FIGURES, Facts, Figure};
use headroom::scenario::codec::Decoded;
use headroom::scenario::{FieldId, Scenario, Value, codec, field, reference};
use headroom::view::anything::scenario_of;
use headroom::view::export::{ExportFormat, Luggage, file};
use headroom::view::report::{Report, json};
use headroom::view::what_fits::{as_json, as_text, by_size, what_fits};
use headroom::worker::explain::explained;

use arguments::{Arguments, CommandLine, HELP, arguments};

fn bad_input(sentences: &[String]) -> ExitCode {
    let mut out = std::io::stderr().lock();
    for sentence in sentences {
        // Nothing is left to do if even the error stream is closed.
        let _ = writeln!(out, "{sentence}");
    }
    ExitCode::from(2)
}

fn print(text: &str) -> ExitCode {
    // A reader that has closed the pipe has read enough.
    let _ = writeln!(std::io::stdout(), "{text}");
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    match arguments() {
        Ok(CommandLine::Help) => print(HELP),
        Ok(CommandLine::Inputs) => print(&reference()),
        Ok(CommandLine::Import { files, counts }) => match import::run(&files, counts.as_deref()) {
            Ok(table) => print(&table),
            Err(sentence) => bad_input(&[sentence]),
        },
        Ok(CommandLine::Estimate(arguments)) => answer(&arguments),
        Ok(CommandLine::Explain { arguments, paths }) => explain(&arguments, &paths),
        Ok(CommandLine::Read { files, onto, json }) => {
            let present = onto.as_deref().map_or_else(|| Ok(Scenario::default()), scenario_of);
            launched(present.and_then(|present| launch::read_files(&files, &present, json)))
        }
        Ok(CommandLine::Formats) => print(&launch::formats()),
        Ok(CommandLine::Write { link, tool }) => {
            launched(scenario_of(&link).and_then(|scenario| launch::write_as(&scenario, &tool)))
        }
        Ok(CommandLine::Fits(arguments)) => match scenario_of(&arguments.link) {
            Ok(scenario) => {
                let fits = by_size(what_fits(&scenario));
                print(&if arguments.json {
                    as_json(&fits).to_string()
                } else {
                    as_text(&fits, &scenario)
                })
            }
            Err(sentences) => bad_input(&sentences),
        },
        Ok(CommandLine::Log { file, arguments }) => diagnose(log::run, &file, &arguments),
        Ok(CommandLine::Oom { file, arguments }) => diagnose(oom::run, &file, &arguments),
        Ok(CommandLine::Snapshot { file, arguments }) => diagnose(snapshot::run, &file, &arguments),
        Err(message) => bad_input(&[message, "try headroom --help".to_owned()]),
    }
}

#[expect(clippy::disallowed_methods, reason = "this program never runs in a browser")]
fn exported(
    form: ExportFormat,
    arguments: &Arguments,
    decoded: &Decoded,
) -> Result<String, String> {
    let mut scenario = decoded.scenario.clone();
    if let Some(unit) = arguments.unit {
        scenario.set(FieldId::MemoryUnit, Value::choice(unit));
    }
    let address =
        arguments.link.split_once('#').map(|(address, _)| address.to_owned()).unwrap_or_default();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let clock_ms = u64::try_from(since.as_millis()).unwrap_or_default();
    file(
        form,
        &Luggage {
            scenario,
            compare: decoded.compare.clone(),
            address,
            clock_ms,
            log: true,
            ..Luggage::default()
        },
    )
}

/// Every figure that applies, a line each: name, exact value (`none` where there is none),
/// printed value, description.
fn figures(scenario: &Scenario) -> ExitCode {
    let Ok(facts) = Facts::of(scenario) else { return ExitCode::from(2) };
    let line = |figure: &Figure| {
        let amount = (figure.of)(&facts)?;
        let exact = amount.number().map_or_else(|| "none".to_owned(), |number| number.to_string());
        Some(format!("{}\t{exact}\t{}\t{}", figure.id, figure.show(amount, &facts), figure.label))
    };
    print(&FIGURES.iter().filter_map(line).collect::<Vec<_>>().join("\n"))
}

/// The scenario of a link and its job. Where there is none, the reason is printed and the exit
/// code returned.
fn job_of(arguments: &Arguments) -> Result<(Decoded, Job), ExitCode> {
    let fragment =
        arguments.link.split_once('#').map_or(arguments.link.as_str(), |(_, fragment)| fragment);
    let decoded = codec::decode(fragment);
    if decoded.failed {
        return Err(bad_input(&decoded.notices));
    }
    match decoded.scenario.resolve() {
        Ok(job) => Ok((decoded, job)),
        Err(errors) => {
            let problems = errors
                .iter()
                .map(|error| format!("{}: {}", field(error.field).label, error.message));
            Err(bad_input(&decoded.notices.iter().cloned().chain(problems).collect::<Vec<_>>()))
        }
    }
}

/// Prints the outcome of reading or writing a command or file.
fn launched(outcome: launch::CommandOutcome) -> ExitCode {
    match outcome {
        Ok((text, code)) => {
            print(text.trim_end());
            code
        }
        Err(sentences) => bad_input(&sentences),
    }
}

/// The explanations of some figures.
fn explain(arguments: &Arguments, paths: &[String]) -> ExitCode {
    let (decoded, job) = match job_of(arguments) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let unit = arguments.unit.unwrap_or_else(|| decoded.scenario.memory_unit());
    match explained(&job, paths, unit) {
        Ok(texts) => print(&texts.join("\n\n")),
        Err(path) => bad_input(&[format!(
            "There is no figure {path} here; headroom --help lists the paths."
        )]),
    }
}

/// A comparison of a file that a job's program left behind (message, log or snapshot) with the
/// job: a function of the file, the job, whether JSON is asked for, and the link's notices.
type Beside = fn(&str, &Job, bool, &[String]) -> Result<String, String>;

fn diagnose(beside: Beside, file: &str, arguments: &Arguments) -> ExitCode {
    let (decoded, job) = match job_of(arguments) {
        Ok(found) => found,
        Err(code) => return code,
    };
    match beside(file, &job, arguments.json, &decoded.notices) {
        Ok(text) => print(&text),
        Err(sentence) => bad_input(&[sentence]),
    }
}

fn answer(arguments: &Arguments) -> ExitCode {
    let (decoded, job) = match job_of(arguments) {
        Ok(found) => found,
        Err(code) => return code,
    };
    if arguments.figures {
        return figures(&decoded.scenario);
    }
    let report =
        Report::of(&decoded.scenario, &job, arguments.unit).with_device(&decoded.scenario, &job);
    let text = match arguments.export {
        Some(form) => match exported(form, arguments, &decoded) {
            Ok(text) => text,
            Err(sentence) => return bad_input(&[sentence]),
        },
        None if arguments.json => json(&report, &decoded.scenario, &decoded.notices),
        None => report.text(&decoded.notices),
    };
    print(text.trim_end());
    if report.runs() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
