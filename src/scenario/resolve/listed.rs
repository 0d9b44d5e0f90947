//! Checks that the list has the model and the accelerator that a scenario starts from. A link may
//! name others.

use super::FieldError;
use crate::catalog;
use crate::scenario::{FieldId, Scenario, Value, show, text};

/// The fields whose row decides the start values of other fields.
pub(super) const START_FIELDS: [FieldId; 2] = [FieldId::Model, FieldId::Accelerator];

/// The only row that a word begins, as the end of a link does that was cut off.
fn only_one_like(id: FieldId, word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let only = |mut rows: Box<dyn Iterator<Item = &'static str>>| {
        rows.next().filter(|_| rows.next().is_none())
    };
    if id == FieldId::Model {
        only(Box::new(
            catalog::models().iter().map(|row| row.id).filter(move |row| row.starts_with(&word)),
        ))
    } else {
        only(Box::new(
            catalog::accelerators()
                .iter()
                .map(|row| row.id)
                .filter(move |row| row.starts_with(&word)),
        ))
    }
}

/// The problem of a model or an accelerator that the scenario starts from and the list does not
/// have.
pub(super) fn check(scenario: &Scenario, id: FieldId) -> Option<FieldError> {
    let Value::Text(word) = scenario.get(id) else { return None };
    if !scenario.is_unlisted(id) {
        return None;
    }
    let quoted = text::quoted(&word);
    let message = if id == FieldId::Model {
        format!(
            "This link names a model that is not in the list: “{quoted}”. Choose one, or paste its \
             config.json."
        )
    } else {
        format!(
            "This link names a GPU that is not in the list: “{quoted}”. Choose one; its memory can \
             then be changed."
        )
    };
    let row = only_one_like(id, &word)
        .map_or_else(|| scenario.start(id), |row| Value::Text(row.to_owned()));
    Some(FieldError { field: id, message, way_out: Some((format!("Use {}", show(id, &row)), row)) })
}
