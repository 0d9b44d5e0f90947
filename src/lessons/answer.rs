//! The answer of a student: read with its unit, compared with the figure, and explained where its
//! ratio to the figure is a known one.

use super::figure::{Amount, Facts, Figure, Unit};
use super::story::plain;
use crate::config::Run;
use crate::estimator::MemoryKind;
use crate::scenario::number_and_unit;
use crate::units::{Bytes, to_f64};

/// The longest answer that is read, characters.
const LONGEST: usize = 60;

/// The feedback to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// True if the answer is right, within the tolerance.
    pub right: bool,
    /// One or two sentences, which do not give the right answer away.
    pub text: String,
}

/// Returns the amount that an answer states, in the figure's unit: `1.2 TB`, `1200e9`, `12 GiB`,
/// `3k`, `none`.
///
/// # Errors
/// One sentence that says what may be written.
pub fn read(text: &str, unit: Unit) -> Result<Amount, String> {
    let text = plain(text, LONGEST);
    let written = text.to_lowercase();
    if matches!(written.as_str(), "none" | "no" | "never" | "impossible" | "no number" | "no count")
    {
        return Ok(Amount::Never);
    }
    let wrong = || format!("This answer needs {}.", unit.hint());
    let (number, suffix) = number_and_unit(&text).ok_or_else(wrong)?;
    if unit == Unit::Memory && suffix.is_empty() && number < 1e6 {
        return Err("Which unit? Write GB, GiB, MB or bytes behind the number.".to_owned());
    }
    Ok(Amount::Number(number * factor(suffix, unit).ok_or_else(wrong)?))
}

/// The factor that brings a number with that suffix into the figure's own unit; `None` for an
/// unknown suffix.
fn factor(suffix: &str, unit: Unit) -> Option<f64> {
    let suffix: String =
        suffix.to_lowercase().chars().filter(|character| !character.is_whitespace()).collect();
    let of = |table: &[(&str, f64)]| {
        table.iter().find(|(name, _)| *name == suffix).map(|(_, factor)| *factor)
    };
    let counted = |nouns: &[&str]| {
        let rest = nouns.iter().find_map(|noun| suffix.strip_suffix(noun)).unwrap_or(&suffix);
        power(rest)
    };
    match unit {
        Unit::Memory => memory(&suffix),
        Unit::BytesPerParameter => of(&[("", 1.0), ("b", 1.0), ("byte", 1.0), ("bytes", 1.0)]),
        Unit::Count(noun) => {
            let noun = noun.to_lowercase();
            let singular = noun.strip_suffix('s').unwrap_or(&noun);
            if noun.is_empty() { power(&suffix) } else { counted(&[&noun, singular]) }
        }
        Unit::PerSecond(_) => counted(&["tokens/s", "token/s", "tokenspersecond", "tok/s", "/s"]),
        Unit::Flops => counted(&["flops", "flop"]),
        Unit::Money => power(&suffix),
        Unit::Times => of(&[("", 1.0), ("x", 1.0), ("×", 1.0), ("times", 1.0)]),
        Unit::Share => of(&[("", 0.01), ("%", 0.01), ("percent", 0.01)]),
        Unit::Seconds => of(SECONDS),
        Unit::Days => of(&[
            ("", 1.0),
            ("d", 1.0),
            ("day", 1.0),
            ("days", 1.0),
            ("h", 1.0 / 24.0),
            ("hours", 1.0 / 24.0),
        ]),
    }
}

const SECONDS: &[(&str, f64)] = &[
    ("", 1.0),
    ("s", 1.0),
    ("sec", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("ms", 1e-3),
    ("milliseconds", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("min", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
    ("hours", 3600.0),
    ("days", 86_400.0),
];

/// `k`, `million`, `T` and the like.
fn power(word: &str) -> Option<f64> {
    Some(match word {
        "" => 1.0,
        "k" | "thousand" => 1e3,
        "m" | "million" => 1e6,
        "b" | "g" | "bn" | "billion" => 1e9,
        "t" | "trillion" => 1e12,
        "p" => 1e15,
        "e" => 1e18,
        "z" => 1e21,
        _ => return None,
    })
}

/// `GB`, `GiB`, `TB`, `bytes`.
fn memory(word: &str) -> Option<f64> {
    if matches!(word, "" | "b" | "byte" | "bytes") {
        return Some(1.0);
    }
    let word = word
        .strip_suffix("bytes")
        .or_else(|| word.strip_suffix("byte"))
        .or_else(|| word.strip_suffix('b'))
        .unwrap_or(word);
    let (word, base) = word.strip_suffix('i').map_or((word, 1000.0), |word| (word, 1024.0));
    let powers = match word {
        "k" | "kilo" => 1,
        "m" | "mega" => 2,
        "g" | "giga" => 3,
        "t" | "tera" => 4,
        "p" | "peta" => 5,
        _ => return None,
    };
    Some((0..powers).fold(1.0, |product, _| product * base))
}

/// Compares an answer with a figure of the scenario and returns the feedback; `tolerance` is
/// relative, 0.05 for 5 %.
///
/// # Errors
/// One sentence where the answer cannot be read, or the scenario has no such figure.
pub fn check(
    text: &str,
    figure: &Figure,
    facts: &Facts,
    tolerance: f64,
) -> Result<Feedback, String> {
    let truth = (figure.of)(facts).ok_or("This scenario has no such figure.")?;
    let answer = read(text, figure.unit)?;
    let wrong = |text: String| Ok(Feedback { right: false, text });
    match (answer, truth) {
        _ if answer.is(truth, tolerance) => Ok(Feedback { right: true, text: "Right.".to_owned() }),
        (Amount::Never, _) => wrong("There is such a number.".to_owned()),
        (_, Amount::Never) => wrong(
            "There is no such number: something is too large however many GPUs share the rest."
                .to_owned(),
        ),
        (Amount::Number(answer), Amount::Number(truth)) => {
            let ratio = answer / truth;
            let known = known_factor(ratio, figure, facts).map(|why| format!(" {why}"));
            let direction = match ratio {
                r if r >= 100.0 => "Far too much.",
                r if r > 1.0 => "Too much.",
                r if r > 0.01 => "Too little.",
                _ => "Far too little.",
            };
            wrong(format!("{direction}{}", known.unwrap_or_default()))
        }
    }
}

/// A ratio with a known cause, and the sentence about it.
type Known = (f64, String);

/// Returns the likely mistake behind an answer that is off by this ratio; `None` where the ratio is
/// no known one.
pub fn known_factor(ratio: f64, figure: &Figure, facts: &Facts) -> Option<String> {
    const SAME: f64 = 0.006;
    let near =
        |(known, _): &Known| (known - 1.0).abs() > 2.0 * SAME && (ratio / known - 1.0).abs() < SAME;
    of_job(figure, facts).into_iter().chain(of_units(figure.unit)).find(near).map(|(_, why)| why)
}

/// Ratios that depend on the job, the most telling first.
fn of_job(figure: &Figure, facts: &Facts) -> Vec<Known> {
    let mut known = Vec::new();
    let mut say = |ratio: Option<f64>, why: &str| {
        known.extend(ratio.filter(|ratio| *ratio > 0.0).map(|ratio| (ratio, why.to_owned())));
    };
    let layers = to_f64(facts.job.model().num_hidden_layers);
    let gpus = to_f64(facts.job.layout().world_size());
    if figure.id.starts_with("kv-") && figure.unit == Unit::Memory {
        let groups = to_f64(facts.job.model().num_attention_heads)
            / to_f64(facts.job.model().num_key_value_heads.max(1));
        say(Some(groups), "That counts every query head: only the key/value heads are kept.");
        say(Some(0.5), "Half of it: keys and values are kept, one of each.");
        say(Some(1.0 / layers), "That is one layer: every layer keeps its own.");
        if let Run::Serving(run) = facts.job.run() {
            say(
                Some(1.0 / to_f64(run.concurrent_sequences)),
                "That is one sequence of all that are served at once.",
            );
        }
    }
    if matches!(figure.id, "states" | "bytes-per-parameter" | "per-gpu" | "optimizer") {
        for (part, why) in parts(facts) {
            say(without(figure, facts, part), why);
        }
    }
    if figure.unit == Unit::Memory {
        say(Some(gpus), "That is for all GPUs together: one holds its share.");
        say(
            Some(1.0 / gpus),
            "That is divided by the number of GPUs once too often: what is asked for is not shared \
             out.",
        );
    }
    if matches!(figure.id, "activations" | "saved-per-layer") {
        say(Some(1.0 / layers), "That is one layer of all.");
        say(Some(layers), "That is all layers: what is asked for is one.");
    }
    if let Some(run) = facts.job.training() {
        let batch = to_f64(run.global_batch_size) / to_f64(facts.job.micro_batch_size());
        if figure.unit == Unit::Memory {
            say(Some(batch), "That counts the whole batch: a GPU holds one micro-batch at a time.");
        }
    }
    known
}

/// Parts that are often forgotten, in bytes on one GPU.
fn parts(facts: &Facts) -> [(f64, &'static str); 4] {
    let line = |label: &str| {
        let lines = facts.estimate.ledger.lines.iter().filter(|line| line.label == label);
        lines.map(|line| line.bytes.as_f64()).sum::<f64>()
    };
    let states = |kind| facts.at_step(kind).map_or(0.0, Bytes::as_f64);
    [
        (states(MemoryKind::Gradient), "The gradients are missing."),
        (line("Master weights"), "The master copy of the weights in fp32 is missing."),
        (states(MemoryKind::OptimizerState), "The optimizer states are missing."),
        (facts.kind(MemoryKind::Activation).as_f64(), "The activations are missing."),
    ]
}

/// The share of a figure that is left without that part.
fn without(figure: &Figure, facts: &Facts, part: f64) -> Option<f64> {
    let whole = match figure.id {
        "bytes-per-parameter" => Figure::find("states"),
        _ => Some(figure),
    };
    let whole = (whole?.of)(facts)?.number()?;
    (part > 0.0 && part < whole).then(|| (whole - part) / whole)
}

/// Ratios of units, powers and formats.
fn of_units(unit: Unit) -> Vec<Known> {
    const BINARY: &str = "GB and GiB are mixed up: 1 GiB is 1.0737 GB.";
    let mut known: Vec<(f64, &str)> = Vec::new();
    if unit == Unit::Memory {
        known.extend([
            (1.073_741_824, BINARY),
            (1.0 / 1.073_741_824, BINARY),
            (1.048_576, "MB and MiB are mixed up: 1 MiB is 1.0486 MB."),
            (1.0 / 1.048_576, "MB and MiB are mixed up: 1 MiB is 1.0486 MB."),
            (1.099_511_627_776, "TB and TiB are mixed up: 1 TiB is 1.0995 TB."),
            (1.0 / 1.099_511_627_776, "TB and TiB are mixed up: 1 TiB is 1.0995 TB."),
            (8.0, "Eight times too much: bits were counted, not bytes."),
            (0.125, "An eighth: bits and bytes are mixed up."),
        ]);
    }
    known.extend([
        (
            8.0 / 7.0,
            "Eight sevenths of it: 16 bytes were counted where 14 are, or one part of eight too \
             many.",
        ),
        (
            7.0 / 8.0,
            "Seven eighths of it: two of sixteen bytes are missing, such as the gradients.",
        ),
        (2.0, "Twice as much: was something counted twice, or fp32 taken for bf16?"),
        (0.5, "Half of it: was bf16 taken for fp32, or one of two forgotten?"),
        (4.0, "Four times as much: was a length or a width doubled twice?"),
        (
            0.25,
            "A quarter of it: four of sixteen bytes are weights and gradients, the rest belongs to \
             the optimizer.",
        ),
        (4.0 / 3.0, "A third too much: was forward counted once more?"),
        (0.75, "Three quarters of it: twelve of sixteen bytes, or no recomputation."),
        (1000.0, "A thousand times too much: look at the unit."),
        (0.001, "A thousandth: look at the unit."),
        (1024.0, "1024 times too much: look at the unit."),
        (1.0 / 1024.0, "A 1024th: look at the unit."),
        (10.0, "Ten times too much: look at the power of ten."),
        (0.1, "A tenth: look at the power of ten."),
    ]);
    known.into_iter().map(|(ratio, why)| (ratio, why.to_owned())).collect()
}
