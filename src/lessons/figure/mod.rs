//! The figures of a scenario that a lesson can show, ask for and assert, in one table; the engine
//! computes each.

mod facts;
mod table;

pub use facts::Facts;
pub use table::FIGURES;

use crate::estimator::MemoryKind;
use crate::units::{Bytes, MemoryUnit, Scale, ceil_u64, grouped};

/// The unit of a figure, which decides how it is written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Memory of one GPU or a part of it, in bytes.
    Memory,
    /// Bytes for each parameter.
    BytesPerParameter,
    /// A whole number of these things.
    Count(&'static str),
    /// Seconds.
    Seconds,
    /// Days.
    Days,
    /// A number of these in a second.
    PerSecond(&'static str),
    /// A share, 0 to 1.
    Share,
    /// A factor, such as 4 times as much.
    Times,
    /// Operations.
    Flops,
    /// Money in US dollars.
    Money,
}

/// The value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A number in the figure's unit; whole numbers and bytes are exact up to 2⁵³.
    Number(f64),
    /// There is no number, such as where no count of GPUs can run the job.
    Never,
}

impl Amount {
    /// Returns the number, if there is one.
    pub const fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Never => None,
        }
    }

    /// Returns true if the amount is `other` within a relative tolerance; [`Self::Never`] equals
    /// itself alone.
    pub fn is(self, other: Self, tolerance: f64) -> bool {
        match (self, other) {
            (Self::Never, Self::Never) => true,
            (Self::Number(a), Self::Number(b)) => {
                (a - b).abs() <= tolerance * b.abs() + 1e-9 * b.abs()
            }
            _ => false,
        }
    }
}

/// The method that gives a figure, and the moment it is about: a picture of another method shows
/// other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The scenario itself: every method starts from it.
    Scenario,
    /// The engine, at the fullest moment where the figure is about memory.
    Engine,
    /// The engine, at the moment when the optimizer steps.
    AtStep,
    /// One of the five documents, by its place among them.
    Document(usize),
}

/// A figure of a scenario.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Its name in stories and links: lower-case letters, digits and `-`.
    pub id: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The method that gives it.
    pub whose: Whose,
    /// The function that computes it; `None` where the scenario has no such figure.
    pub of: fn(&Facts) -> Option<Amount>,
}

impl Figure {
    /// Returns the figure of that name.
    pub fn find(id: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.id == id)
    }

    /// Returns the amount as it is written on the page.
    pub fn show(&self, amount: Amount, facts: &Facts) -> String {
        match (self.kind(), amount.number()) {
            (Some(kind), Some(number))
                if on_scale(Bytes(ceil_u64(number)), facts.unit(), facts.scale()) =>
            {
                let printed = facts.printed();
                format!("{} {}", printed.scale.number(printed.kind(kind)), printed.scale.unit)
            }
            _ => self.unit.show(amount, facts.unit(), Some(facts.scale())),
        }
    }

    /// The kind of memory whose whole amount the figure is: the ledger and the bar print it too.
    fn kind(&self) -> Option<MemoryKind> {
        Some(match self.id {
            "weights" => MemoryKind::Parameter,
            "gradients" => MemoryKind::Gradient,
            "optimizer" => MemoryKind::OptimizerState,
            "activations" => MemoryKind::Activation,
            "kv-cache" => MemoryKind::KvCache,
            "temporary" => MemoryKind::Temporary,
            "framework" => MemoryKind::Framework,
            _ => return None,
        })
    }
}

impl Unit {
    /// Returns an amount in words, memory in `unit`, with the decimals of `scale` where it is of
    /// the same size as the answer's other amounts.
    pub fn show(self, amount: Amount, unit: MemoryUnit, scale: Option<Scale>) -> String {
        let Amount::Number(number) = amount else { return "none".to_owned() };
        match self {
            Self::Memory => memory(Bytes(ceil_u64(number)), unit, scale),
            Self::BytesPerParameter => format!("{} bytes", short(number)),
            Self::Count(noun) => counted(number, noun),
            Self::Seconds if number < 1.0 => format!("{} ms", short(number * 1000.0)),
            Self::Seconds => format!("{} s", short(number)),
            Self::Days => format!("{} days", short(number)),
            Self::PerSecond(noun) => format!("{} {noun} per second", short(number)),
            Self::Share => format!("{} %", short(number * 100.0)),
            Self::Times => format!("{} ×", short(number)),
            Self::Flops => powers(number) + " FLOP",
            Self::Money => short(number),
        }
    }

    /// Returns the ways in which an answer may be written, in a few words.
    pub fn hint(self) -> String {
        match self {
            Self::Memory => "memory, such as 12 GiB or 1.2 TB".to_owned(),
            Self::BytesPerParameter => "bytes, such as 16".to_owned(),
            Self::Count("") => "a number".to_owned(),
            Self::Count(noun) => format!("a number of {noun}, such as 12 or 3k, or none"),
            Self::Seconds => "a time, such as 1.5 s or 300 ms".to_owned(),
            Self::Days => "days".to_owned(),
            Self::PerSecond(noun) => format!("{noun} per second"),
            Self::Share => "per cent".to_owned(),
            Self::Times => "how many times, such as 4".to_owned(),
            Self::Flops => "operations, such as 1e21".to_owned(),
            Self::Money => "an amount of money".to_owned(),
        }
    }
}

/// Amounts that the answer's decimals would round away, and those beyond a thousand, are written by
/// themselves.
fn memory(bytes: Bytes, unit: MemoryUnit, scale: Option<Scale>) -> String {
    match scale.filter(|scale| on_scale(bytes, unit, *scale)) {
        Some(scale) => format!("{} {}", scale.show(bytes), unit.name()),
        None => unit.show(bytes),
    }
}

/// True if an amount is written with the answer's decimals.
fn on_scale(bytes: Bytes, unit: MemoryUnit, scale: Scale) -> bool {
    bytes.0 == 0 || scale.round(bytes) >= 10 && bytes.0 / unit.bytes() < 10_000
}

fn counted(number: f64, noun: &str) -> String {
    let one = (number - 1.0).abs() < f64::EPSILON;
    let noun = if one { noun.strip_suffix('s').unwrap_or(noun) } else { noun };
    let number = if noun.starts_with("parameter") && number >= 1e6 {
        billions(number)
    } else {
        grouped(number, 0)
    };
    if noun.is_empty() { number } else { format!("{number} {noun}") }
}

fn billions(number: f64) -> String {
    let (number, word) =
        if number >= 1e9 { (number / 1e9, "billion") } else { (number / 1e6, "million") };
    format!("{} {word}", short(number))
}

/// A number with about three digits.
fn short(number: f64) -> String {
    let whole = (number - number.round()).abs() <= 5e-4 * number.abs();
    let decimals = match number.abs() {
        n if n >= 99.95 || whole => 0,
        n if n >= 9.995 => 1,
        n if n >= 0.995 => 2,
        _ => 3,
    };
    grouped(number, decimals)
}

/// `7.2 × 10²³`.
fn powers(number: f64) -> String {
    let text = format!("{number:.1e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let raised: String = exponent
        .chars()
        .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::try_from(digit.to_digit(10)?).ok()?))
        .collect();
    format!("{digits} × 10{raised}")
}

/// The names that [`words`] knows.
pub const WORDS: [&str; 6] =
    ["peak-moment", "why-count", "why-ju", "model", "gradients", "zero-stage"];

/// Returns words of a scenario that a text may hold beside figures; `None` for an id that stands
/// for none.
pub fn words(id: &str, facts: &Facts) -> Option<String> {
    Some(match id {
        "peak-moment" => facts.estimate.peak_moment.to_owned(),
        "why-count" => facts.count().reason.clone(),
        "why-ju" => facts.document(0).gpus.reason.clone(),
        "model" => facts.scenario.model_name(|| Some(facts.estimate.parameters.total)),
        "gradients" => facts.job.training()?.recipe().gradient.name().to_owned(),
        "zero-stage" => facts.zero_stage().to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Amount, FIGURES, Figure, Unit};
    use crate::units::MemoryUnit;

    #[test]
    fn names_are_unique_and_plain() {
        let names: BTreeSet<_> = FIGURES.iter().map(|figure| figure.id).collect();
        assert_eq!(names.len(), FIGURES.len());
        for name in names {
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{name}"
            );
            assert!(Figure::find(name).is_some());
        }
    }

    #[test]
    fn amounts_read_as_people_write_them() {
        let show = |unit: Unit, number| unit.show(Amount::Number(number), MemoryUnit::Gb, None);
        assert_eq!(show(Unit::Memory, 14e9), "14.0 GB");
        assert_eq!(show(Unit::Count("GPUs"), 1.0), "1 GPU");
        assert_eq!(show(Unit::Count("GPUs"), 935.0), "935 GPUs");
        assert_eq!(show(Unit::Count("parameters"), 6_738_415_616.0), "6.74 billion parameters");
        assert_eq!(show(Unit::BytesPerParameter, 16.0), "16 bytes");
        assert_eq!(show(Unit::Seconds, 0.0123), "12.3 ms");
        assert_eq!(show(Unit::Share, 0.158), "15.8 %");
        assert_eq!(show(Unit::Flops, 7.24e23), "7.2 × 10²³ FLOP");
        assert_eq!(Unit::Count("GPUs").show(Amount::Never, MemoryUnit::Gb, None), "none");
    }

    #[test]
    fn a_tolerance_is_relative() {
        assert!(Amount::Number(101.0).is(Amount::Number(100.0), 0.01));
        assert!(!Amount::Number(102.0).is(Amount::Number(100.0), 0.01));
        assert!(
            Amount::Never.is(Amount::Never, 0.0) && !Amount::Never.is(Amount::Number(0.0), 1.0)
        );
    }
}
