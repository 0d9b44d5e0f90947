//! Reads text that people type into a field, and shows a value.

use super::{Field, FieldId, FieldKind, FieldOption, Value, field};
use crate::catalog;
use crate::scenario::keys;
use crate::scenario::layers;
use crate::scenario::names::listed;
use crate::scenario::number::{self, Problem};
use crate::scenario::text;
use crate::units::{grouped, to_f64};

/// Reads the text typed into a field and returns its value, in the field's own unit.
///
/// Numbers may be grouped (`8,192`, `8 192`), short (`4k`, `70.6b`, `1e6`) and carry the field's
/// unit. In lengths in tokens `k` means 1024 (`4k` is 4096), elsewhere 1000.
///
/// # Errors
/// One sentence that names the field and the values that it takes.
///
/// ```
/// # use headroom::scenario::{FieldId, Value, parse};
/// assert_eq!(parse(FieldId::SeqLength, "4k"), Ok(Value::Integer(4096)));
/// assert_eq!(parse(FieldId::TrainingTokens, "15T"), Ok(Value::Integer(15_000_000_000_000)));
/// assert!(parse(FieldId::SeqLength, "-1").is_err());
/// ```
pub fn parse(id: FieldId, typed: &str) -> Result<Value, String> {
    let field = field(id);
    let is_named = |(_, name): &(&str, &str)| name.eq_ignore_ascii_case(typed.trim());
    match field.kind {
        FieldKind::Integer { optional: true, .. } | FieldKind::Decimal { optional: true, .. }
            if is_left_empty(typed) =>
        {
            Ok(Value::Empty)
        }
        FieldKind::Integer { min, max, .. } => number::integer(typed, field.kilo, field.unit)
            .map_err(|problem| sentence(field, typed, problem))
            .and_then(|value| in_range(field, typed, value, min, max).map(Value::Integer)),
        FieldKind::Decimal { min, max, .. } => number::decimal(typed, field.unit)
            .map_err(|problem| sentence(field, typed, problem))
            .and_then(|value| in_range(field, typed, value, min, max).map(Value::Decimal)),
        FieldKind::Choice(options) => parse_choice(field, options, typed),
        FieldKind::Flag => parse_flag(field, typed),
        FieldKind::Layers => layers::read(typed).map(Value::Layers).ok_or_else(|| {
            format!("{} takes {}, not “{}”.", field.label, range_text(id), text::quoted(typed))
        }),
        FieldKind::Model => listed(id, typed)
            .row()
            .or_else(|| catalog::models().iter().map(|row| (row.id, row.name)).find(is_named))
            .map(|(id, _)| Value::Text(id.to_owned()))
            .ok_or_else(|| not_listed(typed, "models", "architecture")),
        FieldKind::Accelerator => listed(id, typed)
            .row()
            .or_else(|| catalog::accelerators().iter().map(|row| (row.id, row.name)).find(is_named))
            .map(|(id, _)| Value::Text(id.to_owned()))
            .ok_or_else(|| not_listed(typed, "GPUs", "memory")),
        FieldKind::Text { max_len } => parse_text(field, typed, max_len),
        FieldKind::Words { max_len } => parse_text(field, &keys::words(typed), max_len),
        FieldKind::Keys { max_len } => Ok(Value::Text(keys::clean(typed, max_len))),
    }
}

fn in_range<T: PartialOrd + Copy>(
    field: &Field,
    typed: &str,
    value: T,
    min: T,
    max: T,
) -> Result<T, String> {
    if value < min {
        Err(too_far(field, typed, "small"))
    } else if value > max {
        Err(too_far(field, typed, "large"))
    } else {
        Ok(value)
    }
}

#[cold]
fn not_listed(typed: &str, list: &str, part: &str) -> String {
    format!(
        "“{}” is not in the list of {list}: choose one, or start from any and change its {part}.",
        text::quoted(typed)
    )
}

#[cold]
fn parse_text(field: &Field, typed: &str, max_len: usize) -> Result<Value, String> {
    let name = text::clean(typed);
    let length = name.chars().count();
    if length > max_len {
        return Err(format!(
            "{} can have at most {max_len} characters; this one has {length}.",
            field.label
        ));
    }
    Ok(Value::Text(name))
}

/// Returns the values that a field takes, in a few words: `a whole number from 1 to 10 000`.
pub fn range_text(id: FieldId) -> String {
    let field = field(id);
    let unit = unit_after(field.unit);
    let (text, optional) = match field.kind {
        FieldKind::Integer { min, max, optional, .. } => (
            format!(
                "a whole number from {} to {}{unit}",
                grouped(to_f64(min), 0),
                grouped(to_f64(max), 0)
            ),
            optional,
        ),
        FieldKind::Decimal { min, max, optional } => {
            (format!("a number from {} to {}{unit}", short(min), short(max)), optional)
        }
        FieldKind::Choice(options) => (format!("one of {}", list(options)), false),
        FieldKind::Flag => ("yes or no".to_owned(), false),
        FieldKind::Layers => {
            ("none, all, all-but-every-6, from-3 or a list such as 0-2.5".to_owned(), false)
        }
        FieldKind::Model => ("a model of the list".to_owned(), false),
        FieldKind::Accelerator => ("a GPU of the list".to_owned(), false),
        FieldKind::Text { max_len } => (format!("a text of at most {max_len} characters"), false),
        FieldKind::Words { .. } => {
            ("a word for each layer, such as 5 sliding_attention, full_attention".to_owned(), false)
        }
        FieldKind::Keys { .. } => ("names of keys".to_owned(), false),
    };
    if optional { format!("{text}, or nothing") } else { text }
}

/// Returns a value as the form shows it, without its unit; [`parse`] reads it back.
///
/// Whole numbers are grouped, decimals have at most four places, choices have their label, models
/// and accelerators their name.
pub fn show(id: FieldId, value: &Value) -> String {
    match value {
        Value::Integer(number) => {
            let plain = number.to_string();
            if plain.len() > 15 { plain } else { grouped(to_f64(*number), 0) }
        }
        Value::Decimal(number) => short(*number),
        Value::Choice(word) => match field(id).kind {
            FieldKind::Choice(options) => options
                .iter()
                .find(|option| option.value == *word)
                .map_or(*word, |option| option.label)
                .to_owned(),
            _ => (*word).to_owned(),
        },
        Value::Flag(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Text(text) => match field(id).kind {
            FieldKind::Model => {
                catalog::model_of_id(text).map_or_else(|| text.clone(), |row| row.name.to_owned())
            }
            FieldKind::Accelerator => catalog::accelerator_of_id(text)
                .map_or_else(|| text.clone(), |row| row.name.to_owned()),
            _ => text.clone(),
        },
        Value::Layers(set) => layers::word(set),
        Value::Empty => String::new(),
    }
}

fn is_left_empty(typed: &str) -> bool {
    let typed = typed.trim();
    typed.is_empty() || typed == EMPTY
}

/// The word for an empty optional field in links.
pub(in crate::scenario) const EMPTY: &str = "empty";

fn parse_choice(field: &Field, options: &[FieldOption], typed: &str) -> Result<Value, String> {
    let wanted = typed.trim();
    options
        .iter()
        .find(|option| {
            option.value.eq_ignore_ascii_case(wanted) || option.label.eq_ignore_ascii_case(wanted)
        })
        .map(|option| Value::Choice(option.value))
        .ok_or_else(|| {
            format!(
                "{} takes one of {}, not “{}”.",
                field.label,
                list(options),
                text::quoted(typed)
            )
        })
}

#[cold]
fn parse_flag(field: &Field, typed: &str) -> Result<Value, String> {
    match typed.trim().to_ascii_lowercase().as_str() {
        "1" | "yes" | "true" | "on" => Ok(Value::Flag(true)),
        "0" | "no" | "false" | "off" => Ok(Value::Flag(false)),
        _ => Err(format!("{} takes yes or no, not “{}”.", field.label, text::quoted(typed))),
    }
}

#[cold]
fn list(options: &[FieldOption]) -> String {
    options.iter().map(|option| option.value).collect::<Vec<_>>().join(", ")
}

#[cold]
fn sentence(field: &Field, typed: &str, problem: Problem) -> String {
    let range = range_text(field.id);
    match problem {
        Problem::Empty => format!("{} is empty: enter {range}.", field.label),
        Problem::NotANumber => format!(
            "“{}” does not read as a number: {} takes {range}.",
            text::quoted(typed),
            field.label
        ),
        Problem::Negative => too_far(field, typed, "small"),
        Problem::NotWhole => {
            format!("{} takes {range}; “{}” is not whole.", field.label, text::quoted(typed))
        }
        Problem::TooLarge => too_far(field, typed, "large"),
    }
}

#[cold]
fn too_far(field: &Field, typed: &str, how: &str) -> String {
    format!(
        "{} takes {}; “{}” is too {how}.",
        field.label,
        range_text(field.id),
        text::quoted(typed)
    )
}

fn unit_after(unit: &str) -> String {
    match unit {
        "" => String::new(),
        "%" => "\u{a0}%".to_owned(),
        unit => format!(" {unit}"),
    }
}

/// At most four decimals, without trailing zeros; very small numbers in full.
fn short(value: f64) -> String {
    if value > 0.0 && value < 0.01 {
        return value.to_string();
    }
    let text = grouped(value, 4);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
