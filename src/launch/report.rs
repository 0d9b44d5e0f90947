//! The report of a reading: a row for each flag, with its effect on the scenario.

use super::{Format, Place};
use crate::scenario::Scenario;

/// A scenario that was read from commands and files.
#[derive(Clone, Debug)]
pub struct Launched {
    /// The scenario.
    pub scenario: Scenario,
    /// The format of the text that starts the run.
    pub format: Format,
    /// A row for each flag and each default, in the order of the texts; defaults last.
    pub report: Vec<Row>,
}

/// A row of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The flag as the tool calls it.
    pub flag: String,
    /// The value, as stated or as interpreted.
    pub value: String,
    /// The origin of the value, or the reason why it does not count.
    pub way: Way,
    /// A further sentence, or an empty text.
    pub note: String,
    /// The place in the text; `None` for defaults and derived values.
    pub place: Option<Place>,
}

/// The origin of a row's value, or the reason why it does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// The text states it.
    Read,
    /// The tool's own default.
    Default,
    /// It follows from other values.
    Derived,
    /// It changes neither the estimated memory nor the estimated time.
    NoEffect,
    /// It changes memory or time, and is not modelled.
    NotModelled,
    /// The tool's table has no such flag, or the text does not determine its value.
    Unknown,
}

impl Way {
    /// Returns true if the row's flag changes memory or time, or may, and does not count.
    pub const fn is_left_out(self) -> bool {
        matches!(self, Self::NotModelled | Self::Unknown)
    }

    /// Returns its word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Default => "default",
            Self::Derived => "derived",
            Self::NoEffect => "no effect on memory",
            Self::NotModelled => "not modelled",
            Self::Unknown => "not understood",
        }
    }
}

impl Launched {
    /// Returns the rows whose flag changes memory or may change it, and does not count.
    pub fn not_counted(&self) -> impl Iterator<Item = &Row> {
        self.report.iter().filter(|row| row.way.is_left_out())
    }
}
