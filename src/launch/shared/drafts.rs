//! Speculative decoding in the words of servers: the way of proposing, the draft model, and how
//! many tokens it proposes.

use super::{whole, word};
use crate::catalog;
use crate::launch::model_names::{name_of, row_called};
use crate::launch::{Given, Reading, Way, Writing};
use crate::scenario::{FieldId, Value};

/// The input's words for ways of proposing.
pub const MODEL: &str = "draft-model";
pub const MTP: &str = "mtp";
pub const EAGLE: &str = "eagle";
pub const EAGLE3: &str = "eagle3";

/// The way of proposing that the name of a head's repository tells; a model of its own otherwise.
pub fn of_name(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    if name.contains("eagle3") || name.contains("eagle-3") {
        EAGLE3
    } else if name.contains("eagle") {
        EAGLE
    } else if name.contains("mtp") {
        MTP
    } else {
        MODEL
    }
}

/// Sets the way of proposing.
pub fn method(reading: &mut Reading<'_>, given: &Given, method: &'static str) {
    reading.read(given, FieldId::Drafts, Value::Choice(method));
}

/// Sets the draft model that a flag names; of a head the name says no sizes.
pub fn model(reading: &mut Reading<'_>, given: &Given, method: &str) {
    if method != MODEL {
        let note = "The head counts as a layer of the model's sizes.".to_owned();
        return reading.tell(given, Way::Read, note);
    }
    match row_called(&given.text()) {
        Some((row, why)) => {
            reading.derive(given, FieldId::DraftModel, Value::Text(row.id.to_owned()), &why);
        }
        None => reading
            .not_modelled(given, "The catalog has no model of that name: choose the draft model."),
    }
}

/// Sets the number of proposed tokens.
///
/// # Errors
/// The rest of a sentence where the value is no whole number.
pub fn tokens(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let tokens = given.whole()?;
    if (1..=64).contains(&tokens) {
        reading.read(given, FieldId::DraftTokens, Value::Integer(tokens));
    } else {
        reading.not_modelled(given, "1 to 64 drafted tokens are modelled.");
    }
    Ok(())
}

/// The scenario's way of proposing, its draft model by its name for commands, and the tokens;
/// `None` where nothing is proposed.
pub fn written(writing: &mut Writing<'_>) -> Option<(&'static str, Option<String>, u64)> {
    // No tool has a word for how many proposals are accepted: it shows when it runs.
    writing.is_said(&[FieldId::Acceptance]);
    let scenario = writing.scenario;
    let method = word(scenario, FieldId::Drafts);
    if method == "none" || method.is_empty() {
        return None;
    }
    let name = match (method, scenario.get(FieldId::DraftModel)) {
        (MODEL, Value::Text(id)) => {
            writing.is_said(&[FieldId::DraftModel]);
            let row = catalog::model(&id).or_else(|| {
                catalog::models().iter().find(|row| row.name.eq_ignore_ascii_case(&id))
            });
            row.map(|row| name_of(row).to_owned())
        }
        _ => None,
    };
    if name.is_none() && method != MTP {
        writing.lacks(
            "The draft has no name here: put its folder or repository in the place of DRAFT.",
        );
    }
    let name = if method == MTP { None } else { Some(name.unwrap_or_else(|| "DRAFT".to_owned())) };
    writing.is_said(&[FieldId::Drafts, FieldId::DraftTokens]);
    Some((method, name, whole(scenario, FieldId::DraftTokens)))
}
