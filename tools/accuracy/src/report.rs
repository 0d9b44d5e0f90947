//! The error table as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::naming::Named;
use super::row::Row;
use super::serving_speed;
use super::statistics::{Exact, Spread, Summary, reasons, worst};
use headroom::units::{grouped, to_f64};

/// Worst rows that are named.
const WORST: usize = 5;

/// The group of rows by the program that trains: its line is followed by the reasons why rows
/// cannot be expressed.
const FRAMEWORK: &str = "framework";

/// One file with all its rows.
pub struct File {
    /// The path as it was given.
    pub path: String,
    /// Its rows, in its order.
    pub rows: Vec<Row>,
    /// How each of them is called.
    pub names: Vec<Named>,
}

impl File {
    /// Each group that has at least one row, with its rows: groups in a fixed order, values in
    /// alphabetical order.
    fn groups(&self) -> Vec<(&'static str, String, Summary)> {
        let mut names: Vec<(&'static str, String)> =
            self.rows.iter().flat_map(|row| row.groups.iter().cloned()).collect();
        let order = |name: &str| {
            [
                FRAMEWORK,
                "device",
                "states",
                "time",
                "kind",
                "allocator",
                "precision",
                "kernels",
                "attention",
                "recompute",
                "family",
            ]
            .iter()
            .position(|n| *n == name)
        };
        names.sort_by(|a, b| (order(a.0), &a.1).cmp(&(order(b.0), &b.1)));
        names.dedup();
        let summary = |group: &(&'static str, String)| {
            Summary::of(self.rows.iter().filter(|row| row.groups.contains(group)))
        };
        names.into_iter().map(|group| (group.0, group.1.clone(), summary(&group))).collect()
    }
}

/// The table for people; with `differences` every row's too.
pub fn text(files: &[File], differences: bool) -> String {
    files.iter().map(|file| text_of(file, differences)).collect::<Vec<_>>().join("\n")
}

fn text_of(file: &File, differences: bool) -> String {
    let all = Summary::of(file.rows.iter());
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = writeln!(
        out,
        "{}: {} rows, {} of them not expressed",
        file.path, all.rows, all.unsupported
    );
    for (reason, count) in reasons(file.rows.iter()) {
        let _ = writeln!(out, "  {count:>5} × {reason}");
    }
    let _ = writeln!(out, "{}", summary_line("all", &all));
    let is_speed = serving_speed::are_serving_speed(&file.rows);
    if is_speed {
        out.push_str(&serving_speed::text(&file.rows));
    }
    for (name, value, summary) in if is_speed { Vec::new() } else { file.groups() } {
        let _ = writeln!(out, "{}", summary_line(&format!("{name} {value}"), &summary));
        if name == FRAMEWORK {
            for (reason, count) in
                reasons(file.rows.iter().filter(|row| row.groups.contains(&(name, value.clone()))))
            {
                let _ = writeln!(out, "    {count:>5} × {reason}");
            }
        }
    }
    let worst = worst(&file.rows, WORST);
    if !worst.is_empty() {
        let _ = writeln!(out, "  worst rows:");
    }
    for (row, comparison) in worst {
        let groups =
            row.groups.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ");
        let count = |number: u64| grouped(to_f64(number), 0);
        let (ours, measured) = (count(comparison.ours), count(comparison.measured));
        let error = percent(comparison.error(), true);
        let _ = writeln!(
            out,
            "    {} {}: {ours} against {measured}, {error} ({groups})",
            row.id,
            comparison.quantity.name()
        );
    }
    if differences {
        file.rows.iter().for_each(|row| difference(&mut out, row));
    }
    out
}

/// Every figure of a row, or why it has none.
fn difference(out: &mut String, row: &Row) {
    let groups = row.groups.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ");
    let _ = writeln!(out, "  {} ({groups})", row.id);
    match &row.outcome {
        Err(reason) => {
            let _ = writeln!(out, "    not expressed: {reason}");
        }
        Ok(found) => {
            for one in found {
                let [ours, measured] =
                    [one.ours, one.measured].map(|number| grouped(to_f64(number), 0));
                let error = percent(one.error(), true);
                let _ = writeln!(
                    out,
                    "    {:<24} {ours:>18} against {measured:>18}  {error}",
                    one.quantity.name()
                );
            }
        }
    }
}

/// One group: its rows, those not expressed, and each figure that its rows state.
fn summary_line(name: &str, summary: &Summary) -> String {
    let spreads = [
        ("activations", summary.activations),
        ("peak", summary.peak),
        ("allocated", summary.allocated),
        ("reserved", summary.reserved),
        ("model states", summary.model_states),
        ("step time", summary.step_time),
    ];
    let exact = [
        ("parameters", summary.parameters),
        ("FLOPs", summary.flops),
        ("KV per token", summary.kv_bytes_per_token),
    ];
    let spreads = spreads.iter().filter_map(|(name, spread)| {
        spread.map(|spread| format!("{name} {}", spread_text(spread)))
    });
    let exact = exact.iter().filter(|(_, exact)| exact.rows > 0);
    let exact =
        exact.map(|(name, exact)| format!("{name} {} of {} exact", exact.exact, exact.rows));
    let figures = spreads.chain(exact).chain(out_of_memory(summary)).collect::<Vec<_>>().join("; ");
    let Summary { rows, unsupported, .. } = summary;
    format!("  {name:<24} {rows:>4} rows {unsupported:>4} not expressed  {figures}")
        .trim_end()
        .to_owned()
}

/// Counts of rows that ran out of memory and were said to, and of rows wrongly said to, in words.
fn out_of_memory(summary: &Summary) -> Option<String> {
    let found = summary.out_of_memory;
    let said =
        (found.ended > 0).then(|| format!("out of memory: {} of {} said", found.said, found.ended));
    let wrongly = (found.wrongly > 0)
        .then(|| format!("{} said to be out of memory that were not", found.wrongly));
    [said, wrongly].into_iter().flatten().reduce(|said, wrongly| format!("{said}, {wrongly}"))
}

fn spread_text(spread: Spread) -> String {
    let [mean, median, p90, max] =
        [spread.mean, spread.median, spread.p90, spread.max].map(|error| percent(error, false));
    let [under, over] = [spread.under, spread.over].map(|error| percent(error, true));
    format!("mean {mean} median {median} p90 {p90} max {max} ({under} to {over})")
}

/// A share in per cent with three decimals; a share that is not exact never reads as zero.
pub fn percent(error: f64, signed: bool) -> String {
    if error == 0.0 {
        return "0 %".to_owned();
    }
    let sign = if signed && error > 0.0 { "+" } else { "" };
    let rounded = format!("{:.3}", 100.0 * error.abs());
    if rounded == "0.000" {
        return format!("{}<0.001 %", if error < 0.0 { "-" } else { sign });
    }
    format!("{sign}{:.3} %", 100.0 * error)
}

/// The report as one JSON object; with `rows` every row's figures too.
pub fn json(files: &[File], rows: bool) -> Value {
    json!({ "files": files.iter().map(|file| json_of(file, rows)).collect::<Vec<_>>() })
}

fn json_of(file: &File, rows: bool) -> Value {
    let mut object = summary_json(&Summary::of(file.rows.iter()));
    object.insert("file".to_owned(), json!(file.path));
    let reasons = reasons(file.rows.iter());
    let listed: Vec<Value> =
        reasons.iter().map(|(reason, count)| json!({ "reason": reason, "rows": count })).collect();
    object.insert("reasons".to_owned(), json!(listed));
    let unexpressed: serde_json::Map<String, Value> =
        reasons.into_iter().map(|(reason, count)| (reason, json!(count))).collect();
    object.insert("unexpressed".to_owned(), Value::Object(unexpressed));
    if serving_speed::are_serving_speed(&file.rows) {
        object.insert("serving".to_owned(), serving_speed::json(&file.rows, "high"));
        object.insert("serving_medium".to_owned(), serving_speed::json(&file.rows, "medium"));
    }
    let groups: Vec<Value> = file
        .groups()
        .into_iter()
        .map(|(name, value, summary)| {
            let mut object = summary_json(&summary);
            object.insert("group".to_owned(), json!(name));
            object.insert("value".to_owned(), json!(value));
            Value::Object(object)
        })
        .collect();
    object.insert("groups".to_owned(), json!(groups));
    let worst: Vec<Value> = worst(&file.rows, WORST)
        .into_iter()
        .map(|(row, found)| {
            json!({ "id": row.id, "quantity": found.quantity.name(), "ours": found.ours, "measured": found.measured, "error": found.error() })
        })
        .collect();
    object.insert("worst".to_owned(), json!(worst));
    if rows {
        object.insert("each".to_owned(), file.rows.iter().map(row_json).collect());
    }
    Value::Object(object)
}

fn row_json(row: &Row) -> Value {
    let groups: serde_json::Map<String, Value> =
        row.groups.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    match &row.outcome {
        Err(reason) => json!({ "id": row.id, "groups": groups, "unsupported": reason }),
        Ok(found) => {
            let mut figures = serde_json::Map::new();
            for one in found {
                // A row may state one figure several times, as a step's time under several
                // settings.
                let name = (1..).map(|number| match number {
                    1 => one.quantity.name().to_owned(),
                    number => format!("{} ({number})", one.quantity.name()),
                });
                let figure =
                    json!({ "ours": one.ours, "measured": one.measured, "error": one.error() });
                figures.extend(
                    name.into_iter()
                        .find(|name| !figures.contains_key(name))
                        .map(|name| (name, figure)),
                );
            }
            json!({ "id": row.id, "groups": groups, "figures": figures })
        }
    }
}

fn out_of_memory_json(summary: &Summary) -> Value {
    let found = summary.out_of_memory;
    json!({ "rows": found.rows, "ended": found.ended, "said": found.said, "wrongly": found.wrongly })
}

fn summary_json(summary: &Summary) -> serde_json::Map<String, Value> {
    let exact = |exact: Exact| json!({ "rows": exact.rows, "exact": exact.exact });
    let spread = |spread: Option<Spread>| match spread {
        Some(spread) => {
            let Spread { rows, mean, median, p90, max, under, over } = spread;
            json!({ "rows": rows, "mean": mean, "median": median, "p90": p90, "max": max, "under": under, "over": over })
        }
        None => {
            json!({ "rows": 0, "mean": null, "median": null, "p90": null, "max": null, "under": null, "over": null })
        }
    };
    let entries = [
        ("rows", json!(summary.rows)),
        ("unsupported", json!(summary.unsupported)),
        ("activations", spread(summary.activations)),
        ("peak", spread(summary.peak)),
        ("allocated", spread(summary.allocated)),
        ("reserved", spread(summary.reserved)),
        ("out_of_memory", out_of_memory_json(summary)),
        ("model_states", spread(summary.model_states)),
        ("step_time", spread(summary.step_time)),
        ("parameters", exact(summary.parameters)),
        ("flops", exact(summary.flops)),
        ("kv_bytes_per_token", exact(summary.kv_bytes_per_token)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
