//! Running other programs, and saying so.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of every step; its error is a sentence for the person at the terminal.
pub type Outcome<T = ()> = Result<T, String>;

/// The checkout.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// Prints one line about the next step.
pub fn say(what: &str) {
    println!("==> {what}");
}

/// A program to be run in the checkout.
pub fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command with its output shown.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Outcome {
    let line = line_of(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` failed ({status}).")),
        Err(error) => Err(format!("`{line}` could not be started: {error}.")),
    }
}

/// The trimmed output of a command that succeeds, otherwise nothing.
pub fn ask(name: &str, arguments: &[&str]) -> Option<String> {
    let output = program(name, arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first of these programs that is on `PATH`.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    names.iter().find_map(|name| {
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
    })
}

fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
