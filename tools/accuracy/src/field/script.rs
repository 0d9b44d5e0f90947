//! Scripts and files that people published with the memory they saw, read as anybody's would be: `headroom::launch`.
//!
//! A row's `settings` are the flags of a script or the keys of a file, as they stand there. They are put together again as that text; nothing
//! is set by hand. ms-swift's figures are `max_memory_reserved` of its log, the highest of the whole run, evaluations included; axolotl's
//! `device_mem_reserved`. Both are rounded, GiB. What is known of single rows stands in `tests/data/field/README.md`.

use std::fmt::Write as _;

use headroom::launch::{Launched, Pasted, read};
use headroom::scenario::Scenario;
use serde_json::Value;

use super::super::pretend;
use super::super::row::Fields;
use super::{Found, reserved, runs};

/// Words by which a row's own remarks are told from flags: they are not part of the script.
const REMARKS: [&str; 4] = ["yaml", "note", "verb", "gpus"];

/// A row with a script or file; nothing for a row without.
pub fn found(row: Fields<'_>) -> Option<Found> {
    let (software, text) = if row.is_absent("/settings/verb") {
        (!row.is_absent("/settings/yaml") && !row.is_absent("/settings/base_model")).then_some(())?;
        ("axolotl", file(row))
    } else if row.text("/settings/verb").is_ok_and(|verb| verb.starts_with("megatron")) {
        ("ms-swift, Megatron", script(row))
    } else {
        ("ms-swift, Transformers", script(row))
    };
    let launched = read(&[Pasted { name: "", text: &text }], &Scenario::default()).map_err(|error| error.to_string());
    let complete = is_packed(row);
    let was_read = launched.as_ref().is_ok_and(|launched| launched.scenario.resolve().is_ok());
    let outcome = launched.and_then(|launched| if complete { compared(row, &launched) } else { Err(LENGTHS.to_owned()) });
    Some(Found { software, complete, read: Some(was_read), outcome })
}

/// Why a row without packing is not compared.
const LENGTHS: &str = "without packing the longest batch decides, and it is not known";

/// True if sequences are packed, so that each has the stated length. A figure that was taken without some settings of its script says so:
/// "Not using use_liger_kernel and packing".
fn is_packed(row: Fields<'_>) -> bool {
    ["packing", "sample_packing"].iter().any(|key| {
        let pointer = format!("/settings/{key}");
        let is_on = row.text(&pointer) == Ok("true") || row.flag(&pointer) == Ok(true);
        is_on && !is_left_out(row, key)
    })
}

fn is_left_out(row: Fields<'_>, key: &str) -> bool {
    let without = row.text("/question").ok().and_then(|question| question.split_once("Not using "));
    without.is_some_and(|(_, named)| named.split(':').next().is_some_and(|named| named.contains(key)))
}

/// Ours beside the figure, where every setting counts and the figure is no card's memory.
fn compared(row: Fields<'_>, launched: &Launched) -> Result<Vec<super::Comparison>, String> {
    if let Some(setting) = launched.not_counted().next() {
        return Err(format!("{}: {}", setting.flag, setting.note.trim_end_matches('.')));
    }
    let gib = figure(row)?;
    if [24.0, 80.0, 90.0].iter().any(|card: &f64| card.to_bits() == gib.to_bits()) {
        return Err("the figure can be the card's memory".to_owned());
    }
    let job = launched.scenario.resolve().map_err(|errors| {
        errors
            .first()
            .map_or_else(|| "the scenario has no job".to_owned(), |error| error.message.trim_end_matches('.').to_owned())
    })?;
    let ours = pretend::on_the_card(&job)?;
    runs(&ours.job)?;
    reserved(&ours, gib)
}

fn figure(row: Fields<'_>) -> Result<f64, String> {
    let stated = row.value("/measured/per_gpu")?;
    match stated.as_array().map(Vec::as_slice) {
        None => stated.as_f64(),
        Some([one]) => one.as_f64(),
        Some(_) => return Err("several figures of one file".to_owned()),
    }
    .ok_or_else(|| "the figure is no number".to_owned())
}

/// The script: variables, then the command with its flags.
fn script(row: Fields<'_>) -> String {
    let mut text = String::new();
    for (key, value) in settings(row).filter(|(key, _)| is_variable(key)) {
        let _ = writeln!(text, "export {key}={}", plain(value));
    }
    text.push_str(row.text("/settings/verb").unwrap_or_default());
    for (key, value) in settings(row).filter(|(key, _)| !is_variable(key) && !REMARKS.contains(key)) {
        if !is_left_out(row, key) {
            let _ = write!(text, " \\\n    --{key} {}", plain(value));
        }
    }
    text.push('\n');
    text
}

/// The file: JSON is YAML.
fn file(row: Fields<'_>) -> String {
    let keys = settings(row).filter(|(key, _)| !REMARKS.contains(key)).map(|(key, value)| (key.to_owned(), value.clone()));
    Value::Object(keys.collect()).to_string()
}

fn settings(row: Fields<'_>) -> impl Iterator<Item = (&str, &Value)> {
    row.0.pointer("/settings").and_then(Value::as_object).into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// Variables of a shell have capitals alone.
fn is_variable(key: &str) -> bool {
    key.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
}

/// A value as the script has it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
