//! What several formats have in common: tables of flags, and how servers say the same things.

#![allow(clippy::unnecessary_wraps, reason = "functions of the tables have one type, whether they can fail or not")]

pub mod adapters;
pub mod axolotl_flags;
pub mod axolotl_written;
pub mod fsdp;
pub mod layers;
pub mod llamafactory_flags;
pub mod megatron;
pub mod megatron_flags;
pub mod megatron_model;
pub mod megatron_quiet;
pub mod megatron_swift_flags;
pub mod objective;
pub mod python;
pub mod read;
pub mod run;
pub mod serving;
pub mod swift_flags;
pub mod tables;
pub mod trainer;
pub mod vllm_words;
pub mod weights;
pub mod words;
pub mod zero;

use super::{Given, LaunchError, Reading};
use crate::scenario::{FieldId, Scenario, Value};

/// The whole number that an input has; 1 where it has none.
pub fn whole(scenario: &Scenario, id: FieldId) -> u64 {
    match scenario.get(id) {
        Value::Integer(number) => number,
        _ => 1,
    }
}

/// The word of a choice.
pub fn word(scenario: &Scenario, id: FieldId) -> &'static str {
    match scenario.get(id) {
        Value::Choice(word) => word,
        _ => "",
    }
}

/// Whether an input says yes.
pub fn is_on(scenario: &Scenario, id: FieldId) -> bool {
    scenario.get(id) == Value::Flag(true)
}

/// The error of a flag whose value is not one that it takes.
pub fn wrong(given: &Given, why: String) -> LaunchError {
    LaunchError::Value { flag: given.key.clone(), place: given.place, why }
}

/// The whole number of a flag; `None` where the text does not state the flag or its value.
///
/// # Errors
/// [`LaunchError`] where it is no number.
pub fn stated_whole(reading: &Reading<'_>, names: &[&str]) -> Result<Option<u64>, LaunchError> {
    let stated = reading.stated(names).filter(|given| !given.is_unknown() && !given.value.is_null());
    stated.map(|given| given.whole().map_err(|why| wrong(given, why))).transpose()
}

/// Whether the last of these flags says yes; `None` where the text does not state it.
pub fn stated_on(reading: &Reading<'_>, names: &[&str]) -> Option<bool> {
    reading.stated(names).and_then(Given::is_on)
}

/// Whether a flag says anything at all: neither nothing nor no.
pub fn says_something(given: &Given) -> bool {
    given.is_on() != Some(false) && !given.text().trim().is_empty()
}

/// Whether a word names a file of settings.
pub fn is_file(word: &str) -> bool {
    let ending = std::path::Path::new(word).extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}
