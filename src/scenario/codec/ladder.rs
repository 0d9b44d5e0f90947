//! From links of version 1 to those of version 2.
//!
//! Version 1 said an architecture by inputs of its own, as changes of a row of the catalog, and none followed from another. These are the
//! sizes by hand of version 2, under the names of the table: a link that has any of them says so.

use super::OTHERS;
use crate::scenario::{self, Field, FieldDefault, FieldId, field_of_key, fields};

/// The version that links began with.
pub(super) const FIRST: &str = "v1";

/// The key of a field in links of the newest version.
pub(super) fn key(field: &Field) -> String {
    if field.default.is_of_model() { named(field) } else { field.key.to_owned() }
}

fn named(field: &Field) -> String {
    field.name.trim_start_matches('_').replace('_', "-")
}

/// The field of a key in links of the newest version.
pub(super) fn field(key: &str) -> Option<&'static Field> {
    let is_of = |field: &&Field| if field.default.is_of_model() { named(field) == key } else { field.key == key };
    fields().iter().find(is_of)
}

/// The field of a key in links of version 1, which had no keys of files.
pub(super) fn field_of_first(key: &str) -> Option<&'static Field> {
    field_of_key(key).filter(|field| !matches!(field.default, FieldDefault::OfFile))
}

/// The parts of a link of version 1 as version 2 says them.
pub(super) fn from_first<'a>(parts: &[(&str, &'a str)]) -> Vec<(String, &'a str)> {
    let mut climbed = Vec::with_capacity(parts.len());
    let mut by_hand: Vec<&str> = Vec::new();
    for (key, value) in parts {
        let prefix = OTHERS.into_iter().find(|prefix| key.starts_with(prefix)).unwrap_or_default();
        let found = key.strip_prefix(prefix).and_then(field_of_first);
        let of_model = found.filter(|field| field.default.is_of_model());
        let says_sizes = of_model.is_some() || found.is_some_and(|field| field.id == FieldId::ModelType);
        if says_sizes && !by_hand.contains(&prefix) {
            by_hand.push(prefix);
        }
        climbed.push((of_model.map_or_else(|| (*key).to_owned(), |field| format!("{prefix}{}", named(field))), *value));
    }
    let sizes = scenario::field(FieldId::Sizes).key;
    climbed.extend(by_hand.into_iter().map(|prefix| (format!("{prefix}{sizes}"), "1")));
    climbed
}
