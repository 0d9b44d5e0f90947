//! Rows of measured serving speed: time to the first token, time of a further one, tokens per
//! second.
//!
//! Every row becomes a job of the public library, or is counted with the reason why it does not.
//! Figures are compared in the row's own unit, so that an error has the sign of the published
//! number.

mod left_out;
mod outcome;
mod places;
mod shapes;
mod summary;

use super::row::{Fields, Group, Row};

pub use summary::{json, text};

/// True if the row is one of a table of serving speeds.
pub fn is_serving_speed(row: Fields<'_>) -> bool {
    row.text("/measured/what").is_ok() && row.text("/confidence").is_ok()
}

/// The groups of a row by which its errors are shown.
pub const KIND: &str = "kind";
/// The measured quantity.
pub const WHAT: &str = "measured";
/// How sure the row's settings are.
pub const CONFIDENCE: &str = "confidence";
/// The program that served.
pub const ENGINE: &str = "engine";
/// The accelerator by its id in the catalog, or as it is printed.
pub const ACCELERATOR: &str = "accelerator";

/// A row of measured serving speed.
pub fn serving_speed(index: usize, row: Fields<'_>) -> Row {
    let mut groups: Vec<Group> = Vec::new();
    for (name, pointer) in [
        (KIND, "/kind"),
        (WHAT, "/measured/what"),
        (CONFIDENCE, "/confidence"),
        (ENGINE, "/engine"),
    ] {
        groups.extend(row.text(pointer).map(|value| (name, value.to_owned())));
    }
    let printed = row.text("/accelerator").unwrap_or_default();
    groups.push((ACCELERATOR, places::accelerator(printed).unwrap_or(printed).to_owned()));
    let (outcome, without) = outcome::outcome(row);
    Row { id: super::id(index, row), groups, outcome, without }
}

/// True if a file's rows are of this kind.
pub fn are_serving_speed(rows: &[Row]) -> bool {
    !rows.is_empty()
        && rows.iter().all(|row| row.groups.iter().any(|(name, _)| *name == CONFIDENCE))
}
