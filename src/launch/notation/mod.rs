//! Notations of names and values: shell commands, YAML, TOML, JSON and Python calls, each read with
//! the places in the text.

mod container;
mod expand;
mod invocation;
mod manifest;
mod python;
mod shell;
mod tree;
mod value;

use std::sync::OnceLock;

pub use invocation::{Invocation, Launcher, flags};
pub use python::Call;
pub use shell::{Command, ShellWord};
pub use value::Given;

use super::LaunchError;

/// A place in a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// All settings of a text, in any notation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stated {
    /// Flags and keys with their values, in the order of the text. Keys inside others are joined by
    /// dots.
    pub given: Vec<Given>,
    /// Environment variables that the command or earlier lines set, such as `CUDA_VISIBLE_DEVICES`.
    pub environment: Vec<Given>,
    /// Flags of the launcher, such as torchrun's `nproc_per_node`.
    pub launcher: Vec<Given>,
}

impl Stated {
    /// Returns flags alone, without anything else that a text may state.
    pub const fn of(given: Vec<Given>) -> Self {
        Self { given, environment: Vec::new(), launcher: Vec::new() }
    }

    /// Returns these statements with the keys inside that one as a single value: a file may state
    /// inside itself what others keep in a file of its own.
    #[must_use]
    pub fn nested(mut self, name: &str) -> Self {
        let inner =
            |given: &Given| given.key.strip_prefix(name)?.strip_prefix('.').map(str::to_owned);
        let found: Vec<(String, Given)> =
            self.given.iter().filter_map(|given| Some((inner(given)?, given.clone()))).collect();
        let Some(place) = found.first().map(|(_, given)| given.place) else { return self };
        self.given.retain(|given| inner(given).is_none());
        let value: serde_json::Map<String, serde_json::Value> =
            found.into_iter().map(|(key, given)| (key, given.value)).collect();
        self.given.push(Given::new(name, value, place));
        self
    }
}

/// Returns the keys inside a value, joined by dots.
pub fn keys_inside(given: &Given) -> Vec<Given> {
    tree::inside(given)
}

/// A text that is parsed in each notation on first use.
#[derive(Debug)]
pub struct Text<'a> {
    /// The file's name; empty for a text that was pasted.
    pub name: &'a str,
    /// The text.
    pub raw: &'a str,
    commands: OnceLock<(Vec<Invocation>, Vec<shell::Written>)>,
    calls: OnceLock<Vec<Call>>,
    tree: OnceLock<Option<Result<Vec<Given>, LaunchError>>>,
}

impl<'a> Text<'a> {
    /// Returns a text that nobody has read yet.
    pub const fn new(name: &'a str, raw: &'a str) -> Self {
        Self { name, raw, commands: OnceLock::new(), calls: OnceLock::new(), tree: OnceLock::new() }
    }

    /// Returns the programs that it starts as a shell script.
    pub fn invocations(&self) -> &[Invocation] {
        &self.script().0
    }

    /// Returns the files that it writes as a shell script, with their names.
    pub fn files(&self) -> &[(String, String)] {
        &self.script().1
    }

    fn script(&self) -> &(Vec<Invocation>, Vec<shell::Written>) {
        self.commands.get_or_init(|| {
            let (mut commands, files) = shell::read(self.raw);
            if manifest::may_be(self.raw)
                && let Some(Ok(keys)) = self.keys()
            {
                commands.extend(manifest::commands(keys));
            }
            (commands.into_iter().map(Invocation::of).collect(), files)
        })
    }

    /// Returns the calls with literal arguments that it makes as Python.
    pub fn calls(&self) -> &[Call] {
        self.calls.get_or_init(|| python::calls(self.raw))
    }

    /// Returns its keys as JSON, TOML or YAML, in that order: the first notation that reads it, if
    /// it looks like one. Keys inside others are joined by dots; lists are values.
    pub fn keys(&self) -> Option<&Result<Vec<Given>, LaunchError>> {
        self.tree.get_or_init(|| tree::read(self.raw)).as_ref()
    }

    /// Returns its keys, if it is a file of keys in which one of those occurs, with all its dots.
    pub fn keys_with(&self, one_of: &[&str]) -> Option<Result<Vec<Given>, LaunchError>> {
        match self.keys()? {
            Ok(keys) if keys.iter().any(|key| one_of.contains(&key.key.as_str())) => {
                Some(Ok(keys.clone()))
            }
            _ => None,
        }
    }
}

/// The beginning of a text, for use in a sentence.
pub(super) fn short_text(text: &str) -> String {
    value::short(text)
}
