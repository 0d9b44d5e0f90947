//! Keys that were not understood and may change the answer.

use super::reader::Reader;
use super::value::Value;

/// A key whose name holds one of these may be about a shape.
const ABOUT_SHAPES: [&str; 12] =
    ["head", "layer", "kv", "expert", "window", "dim", "size", "rank", "group", "pattern", "share", "type"];

/// Names of the keys that nothing has looked at and that may change the answer.
pub(super) fn not_counted(file: &Reader<'_>, known: bool) -> Vec<String> {
    file.unused()
        .filter(|(key, value)| says_something(value) && (!known || is_suspect(key)))
        .map(|(key, _)| key.to_owned())
        .collect()
}

/// Whether its name is about a shape.
fn is_suspect(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ABOUT_SHAPES.iter().any(|part| key.contains(part))
}

/// Nothing is switched on by null, false, zero or an empty list.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Whole(0) => false,
        Value::Text(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Object(keys) => !keys.is_empty(),
        Value::Bool(true) | Value::Whole(_) | Value::OtherNumber(_) => true,
    }
}
