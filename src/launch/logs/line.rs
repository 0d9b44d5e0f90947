//! A line of a log as an entry of a table: words, then a number with its unit.

use super::{Amount, Figure, Printed};
use crate::units::Bytes;

/// A line that holds a figure.
#[derive(Clone, Copy, Debug)]
pub struct LineSpec {
    /// Words that the line contains; empty for any line.
    pub has: &'static str,
    /// The words right before the number; `@` stands for the name of a GPU, such as `CUDA0`.
    pub before: &'static str,
    /// Its subject.
    pub figure: Figure,
    /// The bytes of its unit; 0 for a count.
    pub unit: u64,
    /// True if the number is added to the one that the table's line before found in the same line
    /// of the log.
    pub adds: bool,
}

impl LineSpec {
    /// Describes a line with memory in units of 2³⁰ bytes, whatever the program calls them.
    pub const fn gib(has: &'static str, before: &'static str, figure: Figure) -> Self {
        Self { has, before, figure, unit: 1 << 30, adds: false }
    }

    /// Describes a line with memory in units of 2²⁰ bytes.
    pub const fn mib(has: &'static str, before: &'static str, figure: Figure) -> Self {
        Self { unit: 1 << 20, ..Self::gib(has, before, figure) }
    }

    /// Describes a line with a count.
    pub const fn count(has: &'static str, before: &'static str, figure: Figure) -> Self {
        Self { unit: 0, ..Self::gib(has, before, figure) }
    }

    /// Returns the line, whose number is a further part of the figure before it.
    #[must_use]
    pub const fn adding(mut self) -> Self {
        self.adds = true;
        self
    }
}

/// The figures of one line.
pub(super) fn figures(table: &[LineSpec], line: &str, at: usize) -> Vec<Printed> {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.as_str();
    let mut found: Vec<Printed> = Vec::new();
    for spec in table {
        let Some(rest) = line.contains(spec.has).then(|| behind(line, spec.before)).flatten() else { continue };
        let Some(number) = number(rest) else { continue };
        let amount = amount(number, spec.unit);
        let earlier = found.iter_mut().find(|printed| spec.adds && printed.figure == spec.figure);
        match earlier {
            Some(printed) => printed.amount = sum(printed.amount, amount),
            None if spec.adds => {}
            None => found.push(Printed { figure: spec.figure, amount, device: device(line), line: at }),
        }
    }
    found
}

/// The text after `words`, where `@` at their beginning stands for the name of a GPU.
fn behind<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let plain = words.strip_prefix('@').unwrap_or(words);
    let at = line.find(plain)?;
    let before = line.get(..at)?.rsplit(' ').next().unwrap_or_default();
    let fits = plain.len() == words.len() || is_device(before);
    line.get(at + plain.len()..).filter(|_| fits)
}

/// The number at the beginning of a text; digits may be grouped by commas.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let digits: String = text.chars().take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ',')).collect();
    let digits: String = digits.trim_end_matches(['.', ',']).chars().filter(|letter| *letter != ',').collect();
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

fn amount(number: f64, unit: u64) -> Amount {
    if unit == 0 { Amount::Count(number) } else { Amount::Bytes(Bytes(rounded(number * crate::units::to_f64(unit)))) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float-to-int casts saturate, NaN becomes 0")]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

fn sum(one: Amount, other: Amount) -> Amount {
    match (one, other) {
        (Amount::Bytes(one), Amount::Bytes(other)) => Amount::Bytes(one + other),
        _ => Amount::Count(one.number() + other.number()),
    }
}

/// The GPU that a line names: `CUDA0 model buffer size`, `[… TP3]`, `(Worker_TP1 pid=…)`, `ROCm1`.
fn device(line: &str) -> String {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| is_device(word)).map(str::to_owned).next().unwrap_or_default()
}

/// True if a word names a GPU or a rank.
fn is_device(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let name = word.strip_suffix(digits).unwrap_or(word);
    matches!(name, "CUDA" | "ROCm" | "Vulkan" | "Metal" | "SYCL" | "TP" | "PP" | "DP")
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}
