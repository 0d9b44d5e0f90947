//! The tools whose commands and files are read and written, one file each.
//!
//! To add one, write `src/launch/formats/NAME.rs` with a constant `FORMAT: FormatSpec`, and at least
//! six real files with their sources in a folder of `tests/data/launch` that is called as its key.
//! The page and the command line find it in the list; CONTRIBUTING.md says what is recorded anew.

#![allow(
    clippy::unnecessary_wraps,
    reason = "functions of the tables have one type, whether they can fail or not"
)]

use std::fmt;

use super::{Flag, LaunchError, Reading, Stated, Text, Writing};
use crate::scenario::FieldId;

members::of_folder!("src/launch/formats", FORMAT: FormatSpec);

/// The description of a tool's commands or files.
pub struct FormatSpec {
    /// Its word on the command line.
    pub key: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// The version whose flags and defaults these are: `vLLM 0.11.0`.
    pub version: &'static str,
    /// The address of the definitions of its arguments.
    pub source: &'static str,
    /// Its place in lists, counted from 0; no two formats have the same. Texts are tried in this
    /// order.
    pub place: usize,
    /// Its part in starting a run: a text by itself, or a file that another refers to.
    pub role: FormatRole,
    /// Reads the settings of a text in this format; `None` for a text in another format.
    pub open: fn(&Text<'_>) -> Option<Result<Stated, LaunchError>>,
    /// Its flags, in tables that several formats may share.
    pub flags: &'static [&'static [Flag]],
    /// Sets the tool's own defaults before any flag is read.
    pub begin: fn(&mut Reading<'_>),
    /// Interprets flags that depend on each other, after every flag was read.
    pub end: fn(&mut Reading<'_>) -> Result<(), LaunchError>,
    /// Writes the settings that the table of flags does not cover and assembles the text; `None` if
    /// the format is only read.
    pub write: Option<fn(&mut Writing<'_>) -> String>,
    /// Inputs that its code reads and writes in addition to those of its table.
    pub further: &'static [FieldId],
}

/// The part of a format in starting a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatRole {
    /// A command or file that starts a run or a server.
    Whole,
    /// A file that a command refers to, such as DeepSpeed's; alone it changes the present scenario.
    Part,
}

/// A format: one of the list.
#[derive(Clone, Copy)]
pub struct Format(&'static FormatSpec);

impl Format {
    /// The specifications, in the order of lists.
    const SPECS: [&'static FormatSpec; MEMBERS.len()] = in_order_of_place!(MEMBERS);

    /// Every format, in the order of lists.
    pub const ALL: [Self; MEMBERS.len()] = {
        let mut all = [Self(Self::SPECS[0]); MEMBERS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = Self(Self::SPECS[at]);
            at += 1;
        }
        all
    };

    /// Returns the format with that key; `None` for a key that no format has.
    pub fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.key == key)
    }

    /// Returns the formats in which scenarios are written, in the order of lists.
    pub fn writable() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|format| format.write.is_some())
    }

    /// Returns the flag with that name; `None` where the tables of the format have none.
    pub fn flag(self, name: &str) -> Option<&'static Flag> {
        self.flags.iter().copied().flatten().find(|flag| flag.is_called(name))
    }
}

impl std::ops::Deref for Format {
    type Target = FormatSpec;

    fn deref(&self) -> &FormatSpec {
        self.0
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key)
    }
}

impl fmt::Debug for FormatSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key)
    }
}
