//! Questions to a file by a family whose parameters are counted alone: numbers under keys, in
//! groups of keys, and in lists.
//!
//! | key | word | answer |
//! |---|---|---|
//! | none | `size` | the number under that key |
//! | none | `size*512` | that number times 512, to the next whole one |
//! | none | `!size` | 1 where the key is there and null |
//! | none | `norm=layer` | 1 where the key says that word |
//! | a list | none | how long it is |
//! | a list | `word` | how often it says that word or number, in its first places, one for each layer |
//! | a list | `^word` | the same of the first place alone |
//! | a list | `+`, `^+`, `$` | the sum of its numbers, the first one, the last one |
//! | a group | none | how many members it has |
//! | a group | `size` | the number under that key in it |
//! | `one&other` | `word&word` | how often two lists say their words in the same place |
//! | `widths>lengths` | `1` | parameters of convolutions one behind the other, the first of which reads so many columns |

use super::value::{Object, Value};

/// The first key that an answer looks at.
pub(super) fn first_key<'a>(key: &'a str, word: &'a str) -> &'a str {
    let asked = if key.is_empty() { word } else { key };
    asked.trim_start_matches('!').split(['.', '*', '=', '>']).next().unwrap_or_default()
}

/// The answer, where the file says it.
pub(super) fn said(keys: &Object, layers: usize, key: &str, word: &str) -> Option<u64> {
    if key.is_empty() {
        return of_file_itself(keys, word);
    }
    if let Some((widths, lengths)) = key.split_once('>') {
        return convolutions(within(keys, widths)?, within(keys, lengths)?, word.parse().ok()?);
    }
    match (key.split_once('&'), word.split_once('&')) {
        (Some((key, second)), Some((word, other))) => {
            both([within(keys, key)?, within(keys, second)?], [word, other], layers)
        }
        _ => of_value(within(keys, key)?, word, layers),
    }
}

/// The value under a path of keys with dots between them.
fn within<'a>(keys: &'a Object, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => keys.get(path),
        Some((first, rest)) => match keys.get(first) {
            Some(Value::Object(group)) => within(group, rest),
            _ => None,
        },
    }
}

/// A number of the file itself.
fn of_file_itself(keys: &Object, word: &str) -> Option<u64> {
    if let Some(key) = word.strip_prefix('!') {
        return Some(u64::from(keys.get(key) == Some(&Value::Null)));
    }
    match (word.split_once('*'), word.split_once('=')) {
        (Some((key, of)), _) => product(keys.get(key)?, of.parse().ok()?),
        (None, Some((key, word))) => {
            Some(u64::from(*keys.get(key)? == Value::Text(word.to_owned())))
        }
        (None, None) => number(keys.get(word)?),
    }
}

/// A whole number, also one that is written with a point.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Whole(number) => Some(*number),
        Value::OtherNumber(text) => text.strip_suffix(".0")?.parse().ok(),
        Value::Bool(yes) => Some(u64::from(*yes)),
        Value::Null | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
    }
}

/// A width as a multiple of another one, to the next whole number.
fn product(value: &Value, of: u64) -> Option<u64> {
    match value {
        Value::Whole(times) => Some(times.saturating_mul(of)),
        Value::OtherNumber(text) => {
            let times: f64 = text.parse().ok().filter(|times| (0.0..=100.0).contains(times))?;
            Some(crate::units::ceil_u64((times * crate::units::to_f64(of)).round()))
        }
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
    }
}

/// An answer about a list, or about a group of keys.
fn of_value(value: &Value, word: &str, layers: usize) -> Option<u64> {
    match (value, word) {
        (Value::List(items), "") => u64::try_from(items.len()).ok(),
        (Value::List(items), "+") => items.iter().map(number).sum(),
        (Value::List(items), "$") => number(items.last()?),
        (Value::List(items), "^+") => number(items.first()?),
        (Value::List(items), _) => {
            let (word, places) = word.strip_prefix('^').map_or((word, layers), |first| (first, 1));
            let is_it = |own: &&Value| match own {
                Value::Text(own) => own == word,
                Value::Whole(own) => own.to_string() == word,
                _ => false,
            };
            u64::try_from(items.iter().take(places).filter(is_it).count()).ok()
        }
        (Value::Object(group), "") => u64::try_from(group.len()).ok(),
        (Value::Object(group), _) => number(group.get(word)?),
        _ => None,
    }
}

/// How often two lists say their words in the same place.
fn both(lists: [&Value; 2], words: [&str; 2], layers: usize) -> Option<u64> {
    let [Value::List(first), Value::List(second)] = lists else { return None };
    let is = |item: &Value, word: &str| matches!(item, Value::Text(own) if own == word);
    let pairs = first
        .iter()
        .zip(second)
        .take(layers)
        .filter(|(one, other)| is(one, words[0]) && is(other, words[1]));
    u64::try_from(pairs.count()).ok()
}

/// Weights of convolutions of those widths and lengths, each of which reads the one before.
fn convolutions(widths: &Value, lengths: &Value, first: u64) -> Option<u64> {
    let (Value::List(widths), Value::List(lengths)) = (widths, lengths) else { return None };
    let mut read = first;
    let mut weights = 0_u64;
    for (width, length) in widths.iter().zip(lengths) {
        let width = number(width)?;
        weights =
            weights.saturating_add(read.saturating_mul(width).saturating_mul(number(length)?));
        read = width;
    }
    Some(weights)
}
