//! Keys of which a kind's modules are known for some values alone.

use super::ImportError;
use super::reader::Reader;
use super::value::Value;
use crate::models::{FamilySpec, Otherwise};

/// Refuses values that the kind's modules are not known for, or says that they are counted as
/// something that needs at least as much.
pub(super) fn check(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<(), ImportError> {
    for only in kind.only {
        let excused = only.unless.is_some_and(|other| file.peek(other).is_some());
        let stated = file.peek(only.key).filter(|_| !excused).map(written);
        let known = stated.as_ref().is_none_or(|stated| only.values.contains(&stated.as_str()));
        if only.unless.is_none() {
            file.without_effect(&[only.key]);
        }
        match (known, only.otherwise) {
            (true, _) => {}
            (false, Otherwise::Refused(what)) => {
                return Err(ImportError::not_modelled(format!("{what} ({})", only.key)));
            }
            (false, Otherwise::NotCounted) => file.disagrees(only.key),
            (false, Otherwise::UpperBound(note)) => {
                file.upper_bound(only.key, &stated.unwrap_or_default(), note);
            }
        }
    }
    Ok(())
}

/// A value as files write it; of a list and of a group of keys, that it is one.
fn written(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::OtherNumber(text) | Value::Text(text) => super::value::shortened(text),
        Value::List(items) if counts_up(items) => "0, 1, 2, …".to_owned(),
        Value::List(_) => "[…]".to_owned(),
        Value::Object(_) => "{…}".to_owned(),
    }
}

/// True for a list of the numbers from 0 on.
fn counts_up(items: &[Value]) -> bool {
    !items.is_empty() && (0..).zip(items).all(|(number, item)| *item == Value::Whole(number))
}
