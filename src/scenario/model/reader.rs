//! Reads the keys of a scenario's model by its family: natively at once, for the page in a program
//! of its own.

use super::super::{FieldId, FieldKind, Value, field, fields, keys, parse};
use super::{KeysNow, Source, Unread, Values, wire};
use crate::catalog;
use crate::config::{LayerSet, ModelConfig};
use crate::import::{self, Asked, ImportError, List};

/// Answers a question of the page about keys, in the words of links; `None` for any other text.
pub fn answer(question: &str) -> Option<String> {
    let (source, set) = wire::read_question(question)?;
    Some(wire::answer(&read(&source, &set)))
}

/// The inputs that the family reads, with their values, and the architecture that they make.
pub(super) fn read(source: &Source, set: &Values) -> KeysNow {
    let Some((model_type, mut stated)) = start(source) else {
        return KeysNow { asked: Vec::new(), config: Ok(ModelConfig::plain()) };
    };
    for (id, value) in set {
        stated.retain(|(known, _)| known != id);
        stated.push((*id, value.clone()));
    }
    let layers = match stated.iter().find(|(id, _)| *id == FieldId::NumHiddenLayers) {
        Some((_, Value::Integer(count))) => *count,
        _ => import::default_layers(model_type),
    };
    let layers = usize::try_from(layers).unwrap_or(usize::MAX).min(10_000);
    let mut file = import::Object::new();
    for (id, value) in &stated {
        file.insert(field(*id).name.to_owned(), to_json(*id, value, layers));
    }
    let read = import::config_of_keys(model_type, &file);
    KeysNow {
        asked: read.asked.iter().filter_map(asked_value).collect(),
        config: read.config.map_err(|error| unread(&error)),
    }
}

/// The kind of a file, and what it states before anything is changed.
fn start(source: &Source) -> Option<(&str, Vec<(FieldId, Value)>)> {
    match source {
        Source::Row(id) => {
            let (model_type, stated) = catalog::keys_of(id)?.split_once(' ')?;
            Some((model_type, stated.split(' ').filter_map(stated_key).collect()))
        }
        Source::Kind(model_type) => Some((model_type, Vec::new())),
        Source::Sizes => None,
    }
}

fn unread(error: &ImportError) -> Unread {
    Unread {
        message: error.without_way_out(),
        about: error.keys().filter_map(key_of_name).collect(),
        waits: false,
    }
}

/// One key of a row's file: `hidden_size=4096`.
fn stated_key(part: &str) -> Option<(FieldId, Value)> {
    let (name, text) = part.split_once('=')?;
    let id = key_of_name(name)?;
    Some((id, parse(id, &text.replace('_', "-")).ok()?))
}

/// The input for that key of a file.
pub(super) fn key_of_name(name: &str) -> Option<FieldId> {
    fields()
        .iter()
        .find(|field| field.name == name && field.default.is_of_model())
        .map(|field| field.id)
}

/// The input for a key that a reader looked at, with its value; `None` where no input can hold it.
pub(super) fn asked_value(asked: &Asked) -> Option<(FieldId, Value)> {
    let id = key_of_name(asked.key)?;
    Some((id, from_json(id, &asked.value)?))
}

fn to_json(id: FieldId, value: &Value, layers: usize) -> import::Value {
    use import::Value as Json;
    let whole = |at: usize| Json::Whole(u64::try_from(at).unwrap_or(u64::MAX));
    match value {
        Value::Integer(number) => Json::Whole(*number),
        Value::Decimal(number) => {
            let text = number.to_string();
            text.parse().map_or(Json::OtherNumber(text), Json::Whole)
        }
        Value::Choice(word) => Json::Text(word.replace('-', "_")),
        Value::Flag(yes) => Json::Bool(*yes),
        Value::Text(text) => match field(id).kind {
            FieldKind::Words { .. } => {
                Json::List(import::read_words(text, layers).into_iter().map(Json::Text).collect())
            }
            _ => Json::Text(text.clone()),
        },
        Value::Layers(set) => {
            // A tower has layers of its own.
            let layers = if field(id).name.starts_with(crate::models::VISION) {
                MOST_LAYERS
            } else {
                layers
            };
            let has = |at: &usize| set.contains(u64::try_from(*at).unwrap_or(u64::MAX));
            let yes_or_no = |at: usize| Json::Whole(u64::from(has(&at)));
            if import::YES_OR_NO.contains(&field(id).name) {
                Json::List((0..layers).map(yes_or_no).collect())
            } else {
                Json::List((0..layers).filter(has).map(whole).collect())
            }
        }
        Value::Empty if import::NONE_BY_0.contains(&field(id).name) => Json::Whole(0),
        Value::Empty => Json::Null,
    }
}

fn from_json(id: FieldId, value: &import::Value) -> Option<Value> {
    use import::Value as Json;
    Some(match (field(id).kind, value) {
        (
            FieldKind::Integer { optional: true, .. } | FieldKind::Decimal { optional: true, .. },
            Json::Null,
        ) => Value::Empty,
        // Counted from the end: as far as there are layers.
        (FieldKind::Integer { optional: true, .. }, Json::OtherNumber(last)) if last == "-1" => {
            Value::Empty
        }
        (FieldKind::Integer { optional: true, .. }, Json::Whole(0))
            if import::NONE_BY_0.contains(&field(id).name) =>
        {
            Value::Empty
        }
        (FieldKind::Integer { .. }, Json::Whole(number)) => Value::Integer(*number),
        (FieldKind::Decimal { .. }, Json::Whole(number)) => {
            Value::Decimal(crate::units::to_f64(*number))
        }
        (FieldKind::Decimal { .. }, Json::OtherNumber(text)) => Value::Decimal(text.parse().ok()?),
        (FieldKind::Flag, Json::Bool(yes)) => Value::Flag(*yes),
        (FieldKind::Flag, Json::Whole(yes @ (0 | 1))) => Value::Flag(*yes == 1),
        (FieldKind::Choice(options), Json::Text(word)) => {
            let word = word.replace('_', "-");
            Value::Choice(options.iter().find(|option| option.value == word)?.value)
        }
        (FieldKind::Text { .. }, Json::Text(text)) => Value::Text(text.clone()),
        (FieldKind::Words { max_len }, Json::List(items)) => {
            let Some(List::Words(words)) = import::list(items) else { return None };
            let text = keys::words(&import::write_words(&words));
            (text.len() <= max_len).then_some(Value::Text(text))?
        }
        (FieldKind::Layers, Json::List(items)) => {
            let Some(List::Numbers(numbers)) = import::list(items) else { return None };
            layers_of(&numbers, import::YES_OR_NO.contains(&field(id).name))?
        }
        _ => return None,
    })
}

/// The most layers that a list says something of.
const MOST_LAYERS: usize = 1024;

/// The layers that a list of numbers means: its members, or the places of those that are not 0.
fn layers_of(numbers: &[u64], yes_or_no: bool) -> Option<Value> {
    let place = |number: u64| usize::try_from(number).ok().filter(|place| *place < MOST_LAYERS);
    let places: Option<Vec<usize>> = if yes_or_no {
        Some(
            (0..numbers.len())
                .filter(|at| numbers.get(*at).is_some_and(|number| *number != 0))
                .collect(),
        )
    } else {
        numbers.iter().map(|number| place(*number)).collect()
    };
    let places = places?;
    let Some(last) = places.iter().max() else { return Some(Value::Layers(LayerSet::None)) };
    let flags: Vec<bool> = (0..=*last).map(|at| places.contains(&at)).collect();
    Some(Value::Layers(LayerSet::Listed(flags.into())))
}
