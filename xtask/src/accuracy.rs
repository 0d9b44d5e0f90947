//! The estimates against measured rows: hands over to `tools/accuracy`, and keeps the tables made
//! from it.

use std::fs;
use std::process::Command;

use crate::shell::{Outcome, root, run as run_shown, say};

/// The files behind the tables, one path in each line.
const FILES: &str = include_str!("../../tools/accuracy/files.txt");

/// The folder of further rows, one file per family.
const MEASURED: &str = "tests/data/measured";

/// The marks around the README's table.
const MARKS: (&str, &str) = ("<!-- accuracy -->\n", "<!-- /accuracy -->");

/// Runs the tool where the command was given: paths are relative to the folder of whoever calls.
///
/// # Errors
/// When a file cannot be read.
pub fn run(arguments: &[&str]) -> Outcome {
    run_shown(command().args(arguments))
}

/// Writes the README's and the page's table anew.
///
/// # Errors
/// When the tool fails or a file cannot be written.
pub fn write() -> Outcome {
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme).map_err(|error| format!("README.md: {error}."))?;
    let parts = text
        .split_once(MARKS.0)
        .and_then(|(head, rest)| rest.split_once(MARKS.1).map(|(_, tail)| (head, tail)));
    let (head, tail) = parts.ok_or("README.md has lost the marks around its accuracy table.")?;
    let text = format!("{head}{}{}{}{tail}", MARKS.0, table("--markdown")?, MARKS.1);
    fs::write(&readme, text).map_err(|error| format!("README.md: {error}."))?;
    let page = root().join("tools/accuracy/accuracy.json");
    fs::write(&page, table("--page")?).map_err(|error| format!("{}: {error}.", page.display()))?;
    say("README.md and tools/accuracy/accuracy.json are up to date");
    Ok(())
}

/// The tool's output with that option over all files.
fn table(option: &str) -> Outcome<String> {
    let entries =
        fs::read_dir(root().join(MEASURED)).map_err(|error| format!("{MEASURED}: {error}."))?;
    let paths = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let mut measured: Vec<_> = paths.collect();
    measured.sort();
    let mut command = command();
    command.arg(option).args(FILES.lines()).args(measured).current_dir(root());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn command() -> Command {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--locked", "--package", "accuracy", "--manifest-path"]);
    command.arg(root().join("Cargo.toml")).arg("--");
    command
}
