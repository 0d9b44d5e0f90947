//! From links of version 1 to those of version 2.
//!
//! Version 1 said an architecture by sizes, as changes of a row of the catalog, and none followed
//! from another. In version 2 these are the sizes by hand, under the keys that they always had: a
//! link that has any of them says so. Keys of files go by their own names.

use super::{EMPTY, OTHERS};
use crate::scenario::{self, Field, FieldDefault, FieldId, field_of_key, fields};

/// The version that links began with.
pub(super) const FIRST: &str = "v1";

/// The key of a field in a link: of the architecture the name in `config.json`, unless every size
/// is said by hand.
pub(super) fn key(field: &Field, by_hand: bool) -> String {
    let is_named =
        field.default.is_of_model() && !by_hand || matches!(field.default, FieldDefault::OfFile);
    if is_named { named(field) } else { field.key.to_owned() }
}

fn named(field: &Field) -> String {
    field.name.trim_start_matches('_').replace('_', "-")
}

/// The field of a key in links of the newest version.
pub(super) fn field(key: &str) -> Option<&'static Field> {
    field_of_key(key).or_else(|| {
        fields().iter().find(|field| field.default.is_of_model() && named(field) == key)
    })
}

/// The field of a key in links of version 1, which had no keys of files.
pub(super) fn field_of_first(key: &str) -> Option<&'static Field> {
    field_of_key(key).filter(|field| !matches!(field.default, FieldDefault::OfFile))
}

/// The parts of a link of version 1 as version 2 says them.
pub(super) fn from_first<'a>(parts: &[(&'a str, &'a str)]) -> Vec<(String, &'a str)> {
    let says_sizes = |key: &str, value: &str| {
        let kind = |field: &Field| field.id == FieldId::ModelType && value != EMPTY;
        field_of_first(key).is_some_and(|field| field.default.is_of_model() || kind(field))
    };
    let is_by_hand = |prefix: &str| {
        parts
            .iter()
            .any(|(key, value)| key.strip_prefix(prefix).is_some_and(|key| says_sizes(key, value)))
    };
    let sizes = scenario::field(FieldId::Sizes).key;
    let by_hand = [""].into_iter().chain(OTHERS).filter(|prefix| is_by_hand(prefix));
    let by_hand = by_hand.map(|prefix| (format!("{prefix}{sizes}"), "1"));
    parts.iter().map(|(key, value)| ((*key).to_owned(), *value)).chain(by_hand).collect()
}
