//! A JSON value as people paste it: `Infinity`, `NaN`, comments and trailing commas are read too.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Deeper nesting is refused, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 64;

/// The keys and values of one `{ … }`.
pub(crate) type Object = BTreeMap<String, Value>;

/// Any JSON value; numbers are kept apart by whether they can be a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that is not negative.
    Whole(u64),
    /// Any other number, as it is written: negative, broken, infinite or not a number.
    OtherNumber(String),
    /// Text.
    Text(String),
    /// `[ … ]`.
    List(Vec<Value>),
    /// `{ … }`.
    Object(Object),
}

impl Value {
    /// Name of the value's type, for a message.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Whole(_) | Self::OtherNumber(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "a group of keys",
        }
    }

    /// The value in a few characters, for a report.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(yes) => yes.to_string(),
            Self::Whole(number) => number.to_string(),
            Self::OtherNumber(text) | Self::Text(text) => shortened(text),
            Self::List(items) => format!("[{} items]", items.len()),
            Self::Object(keys) => format!("{{{} keys}}", keys.len()),
        }
    }
}

/// The class that a file was saved from: the first that it lists under `architectures`.
pub(super) fn class_of(architectures: Option<&Value>) -> Option<&str> {
    match architectures {
        Some(Value::List(classes)) => match classes.first() {
            Some(Value::Text(class)) => Some(class),
            _ => None,
        },
        _ => None,
    }
}

/// At most 60 characters of a text.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Level(0).deserialize(source)
    }
}

/// Reads one value at that depth.
struct Level(usize);

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        if self.0 > MAX_DEPTH {
            return Err(D::Error::custom("too many nested brackets"));
        }
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(u64::try_from(value)
            .map_or_else(|_| Value::OtherNumber(value.to_string()), Value::Whole))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        Ok(u64::try_from(value)
            .map_or_else(|_| Value::OtherNumber(value.to_string()), Value::Whole))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Ok(u64::try_from(value)
            .map_or_else(|_| Value::OtherNumber(value.to_string()), Value::Whole))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // `4096.0` and `1e6` are whole numbers too; Rust writes them without a point.
        let text = value.to_string();
        Ok(text.parse().map_or(Value::OtherNumber(text), Value::Whole))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Level(self.0 + 1))? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some(key) = entries.next_key::<String>()? {
            object.insert(key, entries.next_value_seed(Level(self.0 + 1))?);
        }
        Ok(Value::Object(object))
    }
}
