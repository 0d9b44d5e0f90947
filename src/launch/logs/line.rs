//! A line of a log as an entry of a table: words, then a number with its unit.

use super::{LogAmount, LogFigure, LogLine};
use crate::units::Bytes;

/// A line that holds a figure.
#[derive(Clone, Copy, Debug)]
pub struct LineSpec {
    /// Words that the line contains; empty for any line.
    pub has: &'static str,
    /// The words right before the number; `@` stands for the name of a GPU, such as `CUDA0`.
    pub before: &'static str,
    /// Its subject.
    pub figure: LogFigure,
    /// The unit of the number.
    pub unit: LogUnit,
    /// The numbers that it is added to.
    pub adds: Adds,
}

/// The unit of a number in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogUnit {
    /// So many bytes.
    Bytes(u64),
    /// One.
    One,
    /// A thousandth, such as a millisecond.
    Thousandth,
}

/// The numbers that a number of a log is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adds {
    /// None: it stands for itself.
    Nothing,
    /// The one that an earlier row of the table found in the same line of the log.
    Line,
    /// Those of the same figure in the whole log.
    Log,
}

impl LineSpec {
    /// Describes a line with memory in units of 2³⁰ bytes, whatever the program calls them.
    pub const fn gib(has: &'static str, before: &'static str, figure: LogFigure) -> Self {
        Self { has, before, figure, unit: LogUnit::Bytes(1 << 30), adds: Adds::Nothing }
    }

    /// Describes a line with memory in units of 2²⁰ bytes.
    pub const fn mib(has: &'static str, before: &'static str, figure: LogFigure) -> Self {
        Self { unit: LogUnit::Bytes(1 << 20), ..Self::gib(has, before, figure) }
    }

    /// Memory in bytes.
    pub const fn bytes(has: &'static str, before: &'static str, figure: LogFigure) -> Self {
        Self { unit: LogUnit::Bytes(1), ..Self::gib(has, before, figure) }
    }

    /// Describes a line with a count.
    pub const fn count(has: &'static str, before: &'static str, figure: LogFigure) -> Self {
        Self { unit: LogUnit::One, ..Self::gib(has, before, figure) }
    }

    /// Milliseconds, which become seconds.
    pub const fn milliseconds(has: &'static str, before: &'static str, figure: LogFigure) -> Self {
        Self { unit: LogUnit::Thousandth, ..Self::gib(has, before, figure) }
    }

    /// Returns the line, whose number is a further part of the figure before it.
    #[must_use]
    pub const fn adding(mut self) -> Self {
        self.adds = Adds::Line;
        self
    }

    /// The line, whose number is one part of the figure that other lines of the log add to; a part
    /// may be negative.
    #[must_use]
    pub const fn part(mut self) -> Self {
        self.adds = Adds::Log;
        self
    }
}

/// A number that a line holds, in bytes or ones.
pub(super) struct Found {
    figure: LogFigure,
    number: f64,
    unit: LogUnit,
    device: String,
    line: usize,
    is_part: bool,
}

/// The numbers of one line.
pub(super) fn figures(table: &[LineSpec], line: &str, at: usize) -> Vec<Found> {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.as_str();
    let mut found: Vec<Found> = Vec::new();
    for spec in table {
        let Some(rest) = line.contains(spec.has).then(|| behind(line, spec.before)).flatten()
        else {
            continue;
        };
        let is_part = spec.adds == Adds::Log;
        let Some(number) = number(rest, is_part) else { continue };
        let number = match spec.unit {
            LogUnit::Bytes(bytes) => number * crate::units::to_f64(bytes),
            LogUnit::One => number,
            LogUnit::Thousandth => number / 1000.0,
        };
        let earlier =
            found.iter_mut().find(|found| spec.adds == Adds::Line && found.figure == spec.figure);
        match earlier {
            Some(found) => found.number += number,
            None if spec.adds == Adds::Line => {}
            None => found.push(Found {
                figure: spec.figure,
                number,
                unit: spec.unit,
                device: device(line),
                line: at,
                is_part,
            }),
        }
    }
    found
}

/// The figures of a log: parts of one figure become one, where the last of them stands.
pub(super) fn joined(all: impl Iterator<Item = Found>) -> Vec<LogLine> {
    let mut joined: Vec<Found> = Vec::new();
    for found in all {
        match joined
            .iter_mut()
            .find(|known| found.is_part && known.is_part && known.figure == found.figure)
        {
            Some(known) => {
                known.number += found.number;
                known.line = found.line;
            }
            None => joined.push(found),
        }
    }
    let printed = |found: Found| LogLine {
        figure: found.figure,
        amount: match found.unit {
            LogUnit::Bytes(_) => LogAmount::Bytes(Bytes(rounded(found.number))),
            LogUnit::One | LogUnit::Thousandth => LogAmount::Count(found.number),
        },
        device: found.device,
        line: found.line,
    };
    joined.into_iter().map(printed).collect()
}

/// The text behind those words, which may begin with the name of a GPU.
fn behind<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let plain = words.strip_prefix('@').unwrap_or(words);
    let at = line.find(plain)?;
    let before = line.get(..at)?.rsplit(' ').next().unwrap_or_default();
    let fits = plain.len() == words.len() || is_device(before);
    line.get(at + plain.len()..).filter(|_| fits)
}

/// The number at the beginning of a text; digits may be grouped by commas.
fn number(text: &str, may_be_negative: bool) -> Option<f64> {
    let text = text.trim_start();
    let (sign, text) = match text.strip_prefix('-').filter(|_| may_be_negative) {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let digits: String = text
        .chars()
        .take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ','))
        .collect();
    let digits: String =
        digits.trim_end_matches(['.', ',']).chars().filter(|letter| *letter != ',').collect();
    digits.parse().ok().filter(|number: &f64| number.is_finite()).map(|number: f64| sign * number)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float-to-int casts saturate, NaN becomes 0"
)]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// The GPU that a line names: `CUDA0 model buffer size`, `[… TP3]`, `(Worker_TP1 pid=…)`, `ROCm1`,
/// `[rank0]`.
fn device(line: &str) -> String {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| is_device(word)).map(str::to_owned).next().unwrap_or_default()
}

/// True if a word names a GPU or a rank.
fn is_device(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let name = word.strip_suffix(digits).unwrap_or(word);
    matches!(name, "CUDA" | "ROCm" | "Vulkan" | "Metal" | "SYCL" | "TP" | "PP" | "DP" | "rank")
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}
