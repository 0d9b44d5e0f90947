//! Errors of serving speeds by kind of run, engine and accelerator.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use headroom::units::to_f64;
use serde_json::{Map, Value, json};

use super::{ACCELERATOR, CONFIDENCE, ENGINE, KIND, WHAT, left_out};
use crate::report::percent;
use crate::row::{Comparison, Row};

/// Errors of some rows.
#[derive(Clone, Default)]
struct Errors {
    rows: usize,
    unsupported: usize,
    signed: Vec<f64>,
}

impl Errors {
    fn add(&mut self, row: &Row) {
        self.rows += 1;
        match &row.outcome {
            Ok(found) => self.signed.extend(found.iter().map(Comparison::error)),
            Err(_) => self.unsupported += 1,
        }
    }

    /// Adds a row's error in figures without some constants.
    fn add_without(&mut self, row: &Row, left_out: &str) {
        self.rows += 1;
        match row.without.iter().find(|(name, _)| *name == left_out) {
            Some((_, found)) => self.signed.push(found.error()),
            None => self.unsupported += 1,
        }
    }

    /// The value below which `tenths` of ten lie; `None` without rows.
    fn at(values: &[f64], tenths: usize) -> Option<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        if tenths == 5 && count.is_multiple_of(2) {
            let upper = sorted.get(count / 2)?;
            return Some(f64::midpoint(*sorted.get((count / 2).checked_sub(1)?)?, *upper));
        }
        sorted.get((tenths * count).div_ceil(10).checked_sub(1)?).copied()
    }

    /// Median and 90th percentile without sign, and the median with it.
    fn figures(&self) -> Option<[f64; 3]> {
        let without_sign: Vec<f64> = self.signed.iter().map(|error| error.abs()).collect();
        Some([Self::at(&without_sign, 5)?, Self::at(&without_sign, 9)?, Self::at(&self.signed, 5)?])
    }

    fn json(&self) -> Map<String, Value> {
        let [median, p90, bias] = self.figures().map_or([None; 3], |figures| figures.map(Some));
        let entries = [
            ("rows", json!(self.rows)),
            ("unsupported", json!(self.unsupported)),
            ("median", json!(median)),
            ("p90", json!(p90)),
            ("bias", json!(bias)),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn group<'a>(row: &'a Row, of: &str) -> &'a str {
    row.groups.iter().find(|(name, _)| *name == of).map_or("", |(_, value)| value)
}

/// Errors by the groups of those names, of rows of one confidence.
fn by<const N: usize>(
    rows: &[Row],
    confidence: &str,
    names: [&str; N],
) -> BTreeMap<[String; N], Errors> {
    let mut found: BTreeMap<[String; N], Errors> = BTreeMap::new();
    for row in rows.iter().filter(|row| group(row, CONFIDENCE) == confidence) {
        found.entry(names.map(|name| group(row, name).to_owned())).or_default().add(row);
    }
    found
}

/// Errors of rows of high confidence by kind and measured quantity, with what was measured on each
/// row's own accelerator, or of its own engine, left out.
fn without(rows: &[Row], left_out: &str) -> BTreeMap<[String; 2], Errors> {
    let mut found: BTreeMap<[String; 2], Errors> = BTreeMap::new();
    for row in rows.iter().filter(|row| group(row, CONFIDENCE) == "high") {
        found
            .entry([KIND, WHAT].map(|name| group(row, name).to_owned()))
            .or_default()
            .add_without(row, left_out);
    }
    found
}

/// The parts that are left out, each with what is printed of it.
const PARTS: [(&str, &str); 2] = [
    (left_out::ACCELERATOR, "  without its accelerator"),
    (left_out::ENGINE, "  without its engine"),
];

/// Errors by the file's own kinds, and within a kind by what was measured.
pub fn json(rows: &[Row], confidence: &str) -> Value {
    let measured = by(rows, confidence, [KIND, WHAT]);
    let left_out = if confidence == "high" {
        PARTS.map(|(part, _)| (without(rows, part), part)).to_vec()
    } else {
        Vec::new()
    };
    let of_kind = by(rows, confidence, [KIND]).into_iter().map(|([kind], errors)| {
        let mut object = errors.json();
        let parts = measured.iter().filter(|([of, _], _)| *of == kind);
        let parts = parts.map(|(key, errors)| {
            let mut object = errors.json();
            for (found, part) in &left_out {
                object.extend(
                    found
                        .get(key)
                        .map(|errors| (format!("without_{part}"), Value::Object(errors.json()))),
                );
            }
            (key[1].clone(), Value::Object(object))
        });
        let parts: Map<String, Value> = parts.collect();
        object.insert("measured".to_owned(), Value::Object(parts));
        (kind, Value::Object(object))
    });
    Value::Object(of_kind.collect())
}

/// The table for people: high confidence by kind, measured quantity, engine and accelerator, then
/// the rest by kind.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    // Writing into a String cannot fail.
    for confidence in ["high", "medium"] {
        let left_out = if confidence == "high" {
            PARTS.map(|(part, name)| (without(rows, part), name)).to_vec()
        } else {
            Vec::new()
        };
        let _ = writeln!(out, "  serving speed, confidence {confidence}:");
        for ([kind, what], errors) in by(rows, confidence, [KIND, WHAT]) {
            let _ = writeln!(out, "{}", line(&format!("{kind}, {what}"), &errors));
            let key = [kind.clone(), what.clone()];
            for (errors, name) in
                left_out.iter().filter_map(|(found, name)| Some((found.get(&key)?, *name)))
            {
                let _ = writeln!(out, "{}", line(name, errors));
            }
            for ([of, part, engine, accelerator], errors) in
                by(rows, confidence, [KIND, WHAT, ENGINE, ACCELERATOR])
            {
                if (&of, &part) == (&kind, &what) && confidence == "high" {
                    let _ = writeln!(
                        out,
                        "{}",
                        line(&format!("    {engine} on {accelerator}"), &errors)
                    );
                }
            }
        }
    }
    out
}

fn line(name: &str, errors: &Errors) -> String {
    let figures = errors.figures().map(|[median, p90, bias]| {
        format!(
            "median {} p90 {} bias {}",
            percent(median, false),
            percent(p90, false),
            percent(bias, true)
        )
    });
    let Errors { rows, unsupported, .. } = errors;
    let share = 100.0 * to_f64(u64::try_from(*unsupported).unwrap_or(0))
        / to_f64(u64::try_from(*rows).unwrap_or(1).max(1));
    let not = if *unsupported > 0 {
        format!(", {unsupported} ({share:.0} %) not expressed")
    } else {
        String::new()
    };
    format!("    {name:<52} {rows:>4} rows{not}  {}", figures.unwrap_or_default())
        .trim_end()
        .to_owned()
}
