//! A setting of a text: a name with its value.

use serde_json::Value;

use super::Place;
use crate::launch::LaunchError;

/// One setting: a name with its value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The name without leading dashes; empty for a word without a name.
    pub key: String,
    /// The value: a string where a shell wrote it, and `true` for a flag without a value.
    pub value: Value,
    /// The place of the name.
    pub place: Place,
}

impl Given {
    /// Returns a name with a value.
    pub fn new(key: impl Into<String>, value: impl Into<Value>, place: Place) -> Self {
        Self { key: key.into(), value: value.into(), place }
    }

    /// Returns the value as one text, as it would stand on a command line; lists with blanks
    /// between their members.
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(" "),
            other => plain(other),
        }
    }

    /// Returns the members of a list; of a text those between commas or blanks.
    pub fn list(&self) -> Vec<String> {
        match &self.value {
            Value::Array(list) => list.iter().map(plain).collect(),
            other => {
                let text = plain(other);
                let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
                let parts =
                    inside.split([',', ' ']).map(|part| part.trim().trim_matches(['"', '\'']));
                parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
            }
        }
    }

    /// Returns true if it says yes, false if no; `None` if neither.
    pub fn is_on(&self) -> Option<bool> {
        match &self.value {
            Value::Bool(on) => Some(*on),
            other => match plain(other).trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(true),
                "false" | "0" | "no" | "off" | "none" | "null" | "" => Some(false),
                _ => None,
            },
        }
    }

    /// Returns the value as a whole number.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the flag's name.
    pub fn whole(&self) -> Result<u64, String> {
        let text = self.text();
        let digits: String = text.trim().chars().filter(|letter| *letter != '_').collect();
        let as_float = || {
            digits.parse::<f64>().ok().filter(|number| {
                number.fract().abs() < f64::EPSILON && (0.0..1e15).contains(number)
            })
        };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range, as the line before holds"
        )]
        let number = digits.parse().ok().or_else(|| as_float().map(|number| number as u64));
        number.ok_or_else(|| format!("takes a whole number, not “{}”", short(&text)))
    }

    /// Returns the value as a number.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the flag's name.
    pub fn number(&self) -> Result<f64, String> {
        let text = self.text();
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("takes a number, not “{}”", short(&text)))
    }

    /// Returns the value as a whole number, with its place where it is none.
    ///
    /// # Errors
    /// [`LaunchError::Value`].
    pub fn whole_or_wrong(&self) -> Result<u64, LaunchError> {
        self.whole().map_err(|why| self.wrong(why))
    }

    /// Returns the error of a value that the flag does not take; `why` goes on behind the flag's
    /// name.
    pub fn wrong(&self, why: String) -> LaunchError {
        LaunchError::Value { flag: self.key.clone(), place: self.place, why }
    }

    /// Returns true if its value is a variable that the text does not set: nobody can know it.
    pub fn is_unknown(&self) -> bool {
        matches!(&self.value, Value::String(text) if text.contains('$') || text.contains('`'))
    }
}

/// The beginning of a text, for use in a sentence.
pub fn short(text: &str) -> String {
    const LETTERS: usize = 40;
    if text.chars().count() <= LETTERS {
        text.to_owned()
    } else {
        text.chars().take(LETTERS).chain(['…']).collect()
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
