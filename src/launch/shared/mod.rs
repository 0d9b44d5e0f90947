//! Code that several formats share: tables of flags, and functions for servers and Trainers.

#![allow(
    clippy::unnecessary_wraps,
    reason = "functions of the tables have one type, whether they can fail or not"
)]

pub mod adapters;
pub mod axolotl_kernels;
pub mod axolotl_lengths;
pub mod axolotl_written;
pub mod drafts;
pub mod drafts_of_servers;
pub mod fsdp;
pub mod layers;
pub mod llama_cpp_host;
pub mod megatron;
pub mod megatron_flags;
pub mod megatron_model;
pub mod megatron_recipes;
pub mod megatron_swift_flags;
pub mod objective;
pub mod python;
pub mod run;
pub mod serving;
pub mod tables;
pub mod torchtitan_written;
pub mod trainer;
pub mod vllm_words;
pub mod weights;
pub mod words;
pub mod zero;

use super::{Given, LaunchError, Reading};
use crate::scenario::{FieldId, Scenario, Value};

/// An input's whole number; 1 where it has none.
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

/// True if an input is switched on.
pub fn is_on(scenario: &Scenario, id: FieldId) -> bool {
    scenario.get(id) == Value::Flag(true)
}

/// The whole number of a flag; `None` where the text does not state the flag or its value.
///
/// # Errors
/// [`LaunchError`] where it is no number.
pub fn stated_whole(reading: &Reading<'_>, names: &[&str]) -> Result<Option<u64>, LaunchError> {
    let stated =
        reading.stated(names).filter(|given| !given.is_unknown() && !given.value.is_null());
    stated.map(Given::whole_or_wrong).transpose()
}

/// As [`stated_whole`], for tools that read an empty value, `None` and `null` as their default.
///
/// # Errors
/// [`LaunchError`] where it is no number.
pub fn count(reading: &Reading<'_>, names: &[&str]) -> Result<Option<u64>, LaunchError> {
    let says_nothing = |given: &Given| {
        matches!(given.text().as_str(), "None" | "null") || given.text().trim().is_empty()
    };
    if reading.stated(names).is_some_and(says_nothing) {
        Ok(None)
    } else {
        stated_whole(reading, names)
    }
}

/// True if the last of these flags is switched on.
pub fn says(reading: &Reading<'_>, names: &[&str]) -> bool {
    stated_on(reading, names) == Some(true)
}

/// True if the last of these flags is on; `None` where the text does not state it.
pub fn stated_on(reading: &Reading<'_>, names: &[&str]) -> Option<bool> {
    reading.stated(names).and_then(Given::is_on)
}

/// True if a flag has a value that is neither empty nor a word for no.
pub fn says_something(given: &Given) -> bool {
    given.is_on() != Some(false) && !given.text().trim().is_empty()
}

/// True if a word names a file of settings.
pub fn is_file(word: &str) -> bool {
    let ending = std::path::Path::new(word)
        .extension()
        .and_then(std::ffi::OsStr::to_str)
        .unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}
