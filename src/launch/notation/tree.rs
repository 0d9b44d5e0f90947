//! Files of keys: JSON, TOML and YAML.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use serde_json::Value;

use super::{Given, Place};
use crate::launch::LaunchError;

/// The deepest nesting of keys that is read; no tool's files go deeper.
const DEEPEST: usize = 30;
/// The most keys that are read, because aliases of YAML can make a small file huge; no tool's file
/// has so many.
const MOST_KEYS: usize = 20_000;

/// The keys of a text with their values and places; `None` if it does not look like a file of keys.
pub(super) fn read(text: &str) -> Option<Result<Vec<Given>, LaunchError>> {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//"))?;
    if first.starts_with('{') {
        return Some(json(text));
    }
    if first.starts_with('[') && first.ends_with(']') || is_toml_line(first) {
        return Some(toml(text));
    }
    let is_key = |line: &str| {
        line.split_once(':').is_some_and(|(key, rest)| {
            is_plain_key(key) && (rest.is_empty() || rest.starts_with(' '))
        })
    };
    (first == "---" || first.starts_with("%YAML") || is_key(first)).then(|| yaml(text))
}

/// True for `key = value` with blanks around the sign, which a shell's assignments do not have.
fn is_toml_line(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| is_plain_key(key))
}

fn is_plain_key(key: &str) -> bool {
    let inside = key.trim().trim_matches(['"', '\'']);
    !inside.is_empty()
        && inside
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
}

/// JSON is read as YAML, which gives places. JSON with comments or trailing commas is read
/// leniently, without places.
fn json(text: &str) -> Result<Vec<Given>, LaunchError> {
    yaml(text).or_else(|error| {
        let value = crate::import::lenient_json(text).ok_or(error)?;
        let mut given = Vec::new();
        flatten(&value, "", Place { line: 1, column: 1 }, &mut given);
        Ok(given)
    })
}

fn yaml(text: &str) -> Result<Vec<Given>, LaunchError> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        let marker = error.marker();
        let place = Place { line: marker.line(), column: marker.col() + 1 };
        LaunchError::Notation { place, why: error.info().trim_end_matches('.').to_owned() }
    })?;
    let mut given = Vec::new();
    for document in &documents {
        keys_of(document, "", 0, &mut given)?;
    }
    Ok(given)
}

fn place_of(node: &MarkedYaml<'_>) -> Place {
    Place { line: node.span.start.line(), column: node.span.start.col() + 1 }
}

fn keys_of(
    node: &MarkedYaml<'_>,
    before: &str,
    depth: usize,
    given: &mut Vec<Given>,
) -> Result<(), LaunchError> {
    let YamlData::Mapping(mapping) = &node.data else { return Ok(()) };
    for (key, value) in mapping {
        let name = joined(before, &plain(&key.data));
        let place = place_of(key);
        if depth > DEEPEST || given.len() > MOST_KEYS {
            return Err(LaunchError::Notation {
                place,
                why: "there are too many keys, or keys too deep inside others".to_owned(),
            });
        }
        match &value.data {
            YamlData::Mapping(inner) if !inner.is_empty() => {
                keys_of(value, &name, depth + 1, given)?;
            }
            _ => given.push(Given { key: name, value: as_json(&value.data, 0), place }),
        }
    }
    Ok(())
}

fn joined(before: &str, name: &str) -> String {
    if before.is_empty() { name.to_owned() } else { format!("{before}.{name}") }
}

fn plain<'a>(data: &YamlData<'a, MarkedYaml<'a>>) -> String {
    match as_json(data, 0) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn as_json<'a>(data: &YamlData<'a, MarkedYaml<'a>>, depth: usize) -> Value {
    match data {
        YamlData::Value(Scalar::String(text)) | YamlData::Representation(text, _, _) => {
            Value::String(text.to_string())
        }
        YamlData::Value(Scalar::Integer(number)) => Value::from(*number),
        YamlData::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        YamlData::Value(Scalar::Boolean(on)) => Value::Bool(*on),
        YamlData::Tagged(_, inner) if depth < DEEPEST => as_json(&inner.data, depth + 1),
        YamlData::Sequence(list) if depth < DEEPEST => {
            list.iter().map(|item| as_json(&item.data, depth + 1)).collect()
        }
        YamlData::Mapping(mapping) if depth < DEEPEST => {
            let pair = |(key, value): (&MarkedYaml<'_>, &MarkedYaml<'_>)| {
                (plain(&key.data), as_json(&value.data, depth + 1))
            };
            Value::Object(mapping.iter().map(pair).collect())
        }
        _ => Value::Null,
    }
}

fn toml(text: &str) -> Result<Vec<Given>, LaunchError> {
    let place_at = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
        Place { line: before.matches('\n').count() + 1, column }
    };
    let table = toml::de::DeTable::parse(text).map_err(|error| LaunchError::Notation {
        place: place_at(error.span().map_or(0, |span| span.start)),
        why: error.message().trim_end_matches('.').replace('\n', " "),
    })?;
    let mut given = Vec::new();
    table_keys(table.get_ref(), "", &place_at, &mut given);
    Ok(given)
}

fn table_keys(
    table: &toml::de::DeTable<'_>,
    before: &str,
    place: &dyn Fn(usize) -> Place,
    given: &mut Vec<Given>,
) {
    for (key, value) in table {
        let name = joined(before, key.get_ref());
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table_keys(inner, &name, place, given),
            other => given.push(Given {
                key: name,
                value: toml_value(other),
                place: place(key.span().start),
            }),
        }
    }
}

fn toml_value(value: &toml::de::DeValue<'_>) -> Value {
    use toml::de::DeValue;
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(on) => Value::Bool(*on),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(list) => list.iter().map(|item| toml_value(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), toml_value(value.get_ref())))
                .collect(),
        ),
    }
}

/// The keys inside a value, joined by dots, all at the place of the value.
pub(super) fn inside(given: &Given) -> Vec<Given> {
    let mut keys = Vec::new();
    flatten(&given.value, "", given.place, &mut keys);
    keys
}

fn flatten(value: &Value, before: &str, place: Place, given: &mut Vec<Given>) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        let name = joined(before, key);
        match value {
            Value::Object(inner) if !inner.is_empty() => flatten(value, &name, place, given),
            other => given.push(Given { key: name, value: other.clone(), place }),
        }
    }
}
