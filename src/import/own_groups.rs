//! Sizes of a family's own whose parameters are counted alone: under keys, in groups of keys, and
//! in lists.
//!
//! A scenario and a link hold a group as its sizes alone, with bars between, in the order in which
//! the family names them.

use super::ImportError;
use super::encoder::own_size;
use super::reader::Reader;
use super::sizes::{MAX_SIZE, whole};
use super::value::{Object, Value};
use crate::models::{COUNTED_SIZES, FamilySpec};

/// The sizes in the order in which the family names their keys, then its groups.
pub(super) fn sizes(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    layers: u64,
) -> Result<[u64; COUNTED_SIZES], ImportError> {
    let mut own = [0; COUNTED_SIZES];
    let mut places = own.iter_mut();
    for ((key, default), size) in kind.own_sizes.iter().zip(&mut places) {
        *size = own_size(file, key, *default)?;
    }
    for (key, members) in kind.own_groups {
        let stated = group(file, key, members, layers)?;
        for ((stated, (_, default)), size) in stated.into_iter().zip(*members).zip(&mut places) {
            *size = stated.unwrap_or(*default);
        }
    }
    Ok(own)
}

/// The members of a group that the file states.
fn group(
    file: &mut Reader<'_>,
    key: &'static str,
    members: &[(&'static str, u64)],
    layers: u64,
) -> Result<Vec<Option<u64>>, ImportError> {
    let names = members.iter().map(|(name, _)| *name);
    let stated: Vec<Option<u64>> = match file.peek(key) {
        Some(Value::Object(group)) => {
            names.map(|name| of_group(key, group, name)).collect::<Result<_, _>>()?
        }
        Some(Value::List(items)) => names.map(|name| Some(times(items, name, layers))).collect(),
        Some(Value::Text(sizes)) => sizes.split('|').map(|size| size.parse().ok()).collect(),
        _ => vec![None; members.len()],
    };
    if file.has(key) {
        let words: Vec<String> = stated
            .iter()
            .map(|size| size.map(|size| size.to_string()).unwrap_or_default())
            .collect();
        file.without_effect(&[key]);
        file.asks(key, Value::Text(words.join("|")), true);
    }
    Ok(stated)
}

/// A member of a group. Of groups in a group, such as one for each layer, it must be the same in
/// all; under no name it is their number.
fn of_group(key: &str, group: &Object, name: &str) -> Result<Option<u64>, ImportError> {
    if name.is_empty() {
        return Ok(u64::try_from(group.len()).ok());
    }
    let inner: Vec<&Object> = group
        .values()
        .filter_map(|inner| if let Value::Object(inner) = inner { Some(inner) } else { None })
        .collect();
    let first = if inner.len() == group.len() {
        inner.first().and_then(|first| first.get(name))
    } else {
        group.get(name)
    };
    if inner.len() == group.len() && inner.iter().any(|inner| inner.get(name) != first) {
        return Err(ImportError::not_modelled(format!("layers of several shapes ({key})")));
    }
    match first {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Whole(0)) => Ok(Some(0)),
        Some(Value::Bool(yes)) => Ok(Some(u64::from(*yes))),
        Some(value) => whole(name, value, MAX_SIZE).map(Some),
    }
}

/// How many items a list has, or how often it has one in its first places, one for each layer.
fn times(items: &[Value], name: &str, layers: u64) -> u64 {
    let layers = usize::try_from(layers).unwrap_or(usize::MAX);
    let count = match name.parse() {
        Ok(number) => {
            items.iter().take(layers).filter(|item| **item == Value::Whole(number)).count()
        }
        Err(_) => items.len(),
    };
    u64::try_from(count).unwrap_or_default()
}
