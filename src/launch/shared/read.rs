//! Values of a scenario and of a text, as formats ask for them again and again.

use crate::launch::{LaunchError, Reading};
use crate::scenario::{FieldId, Scenario, Value};

/// A whole number of the scenario; 1 where none is set.
pub fn whole(scenario: &Scenario, id: FieldId) -> u64 {
    match scenario.get(id) {
        Value::Integer(number) => number,
        _ => 1,
    }
}

/// A choice's word.
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

/// The whole number that the text states under one of these names; nothing where it states none, or says `null`.
///
/// # Errors
/// [`LaunchError`] for a value that is no whole number.
pub fn count(reading: &Reading<'_>, names: &[&str]) -> Result<Option<u64>, LaunchError> {
    let Some(given) = reading.stated(names).filter(|given| !given.is_unknown() && !given.text().trim().is_empty()) else {
        return Ok(None);
    };
    if given.text() == "None" || given.text() == "null" {
        return Ok(None);
    }
    let wrong = |why| LaunchError::Value { flag: given.key.clone(), place: given.place, why };
    given.whole().map(Some).map_err(wrong)
}

/// Whether the text says yes under one of these names.
pub fn says(reading: &Reading<'_>, names: &[&str]) -> bool {
    reading.stated(names).is_some_and(|given| given.is_on() == Some(true))
}
