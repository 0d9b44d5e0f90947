//! A file's vision part: the tower and its projector, where both are known.
//!
//! Keys of the vision part stand beside those of the text part, as `vision_config.hidden_size`, once [`beside`] has put them there; so a
//! scenario and a link carry them like all others.

use super::reader::{MAX_SIZE, Reader, whole};
use super::value::{Object, Value};
use super::{How, ImportError};
use crate::config::{Tower, TowerModules, TowerSize, TowerSizes};
use crate::models::{self, TowerDefault, TowerKey, TowerSpec, VISION, VISION_KIND, VISION_OF};

/// Puts the keys of a known vision part, and those of its projector, beside the keys of the text part.
pub(super) fn beside(base: &mut Object, around: &Object) {
    let (Some(Value::Text(kind)), Some(Value::Object(vision))) = (around.get("model_type"), around.get("vision_config")) else {
        return;
    };
    let Some((tower, projector)) = models::of_file(kind, kind_of(vision)) else { return };
    let mut found: Vec<(String, Value)> = vision.iter().map(|(key, value)| (format!("{VISION}{key}"), value.clone())).collect();
    let of_projector = projector.iter().flat_map(|projector| projector.keys).filter(|of| !of.key.starts_with(VISION));
    found.extend(of_projector.filter_map(|of| Some((of.key.to_owned(), around.get(of.key)?.clone()))));
    let keys = || tower.keys.iter().chain(projector.iter().flat_map(|projector| projector.keys));
    for (key, value) in &mut found {
        let read = keys().find(|of| of.key == key);
        match read.map_or(Some(value.clone()), |of| simple(of.default, value)) {
            Some(simple) => *value = simple,
            // Such as images that are not square: the tower is left out, and named.
            None => return,
        }
    }
    base.insert(VISION_OF.to_owned(), Value::Text(kind.clone()));
    base.extend(found);
}

/// A value as a scenario can hold it: of a list of layers their number, of equal sides one; `None` where there is none.
fn simple(default: TowerDefault, value: &Value) -> Option<Value> {
    match (default, value) {
        (TowerDefault::Count(_), Value::List(layers)) => u64::try_from(layers.len()).ok().map(Value::Whole),
        (TowerDefault::Count(_), Value::Whole(_) | Value::OtherNumber(_)) => Some(Value::Whole(1)),
        (TowerDefault::Is(_), Value::List(sides)) => match sides.as_slice() {
            [first @ Value::Whole(_), others @ ..] if others.iter().all(|other| other == first) => Some(first.clone()),
            _ => None,
        },
        _ => Some(value.clone()),
    }
}

/// The kind that a vision part says it is.
fn kind_of(vision: &Object) -> Option<&str> {
    match vision.get("model_type") {
        Some(Value::Text(kind)) if !kind.is_empty() => Some(kind),
        _ => None,
    }
}

/// The tower and the projector of keys, before a text of that width; `None` where the keys speak of none that is known.
///
/// # Errors
/// A sentence about a size that is no size.
pub(super) fn tower(file: &mut Reader<'_>, text_hidden: u64) -> Result<Option<Tower>, ImportError> {
    let Some((spec, projector)) = specs(file) else { return Ok(None) };
    file.done_with(&[VISION_OF, VISION_KIND]);
    let mut sizes = TowerSizes::NONE;
    sizes.set(TowerSize::Text, text_hidden);
    read(file, spec, &mut sizes)?;
    if let Some(projector) = projector {
        read(file, projector, &mut sizes)?;
    }
    let modules = spec.modules;
    let projector = projector.map_or(&TowerModules::NONE, |projector| projector.modules);
    Ok(Some(Tower { modules, projector, sizes }))
}

/// The tower and the projector that the keys speak of.
fn specs(file: &Reader<'_>) -> Option<(&'static TowerSpec, Option<&'static TowerSpec>)> {
    let text = |key| match file.peek(key) {
        Some(Value::Text(kind)) => Some(kind.as_str()),
        _ => None,
    };
    models::of_file(text(VISION_OF)?, text(VISION_KIND))
}

fn read(file: &mut Reader<'_>, spec: &TowerSpec, sizes: &mut TowerSizes) -> Result<(), ImportError> {
    for TowerKey { size, key, default } in spec.keys {
        let value = one(file, key, *default)?;
        sizes.set(*size, value);
    }
    (spec.follow)(sizes);
    Ok(())
}

/// One size.
fn one(file: &mut Reader<'_>, key: &'static str, default: TowerDefault) -> Result<u64, ImportError> {
    let stated = file.peek(key);
    file.done_with(&[key]);
    let value = match (default, stated) {
        (TowerDefault::Is(_), Some(value)) => whole(key, value, MAX_SIZE)?,
        (TowerDefault::Count(_), Some(Value::Whole(0))) => 0,
        (TowerDefault::Count(_), Some(value)) => whole(key, value, 1024)?,
        (TowerDefault::Flag(yes), None) => u64::from(yes),
        (TowerDefault::Flag(_), Some(Value::Bool(yes))) => u64::from(*yes),
        (TowerDefault::Flag(_), Some(other)) => return Err(ImportError::wrong_type(key, "true or false", other)),
        (TowerDefault::Is(number) | TowerDefault::Count(number) | TowerDefault::OneOver(number), None) => number,
        (TowerDefault::OneOver(_), Some(value)) => one_over(key, value)?,
        (TowerDefault::Word(_), None) => 1,
        (TowerDefault::Word(word), Some(Value::Text(stated))) => u64::from(stated == word),
        (TowerDefault::Word(_), Some(other)) => return Err(ImportError::wrong_type(key, "text", other)),
    };
    let (how, note) = if stated.is_some() { (How::Read, "") } else { (How::Assumed, "The library's default.") };
    file.tell(key, &value, how, note);
    Ok(value)
}

/// A share such as 0.5 as the number of parts, here 2.
fn one_over(key: &str, value: &Value) -> Result<u64, ImportError> {
    let wrong = || ImportError::wrong_type(key, "one over a whole number, such as 0.5", value);
    let Value::OtherNumber(text) = value else { return whole(key, value, 1) };
    let share: f64 = text.parse().map_err(|_| wrong())?;
    (2..=64_u32).find(|parts| (share * f64::from(*parts) - 1.0).abs() < 1e-6).map(u64::from).ok_or_else(wrong)
}

/// Keys of the vision part that nothing looks at and that sound as if they changed a shape.
pub(super) fn not_looked_at(file: &Reader<'_>) -> &'static [&'static str] {
    specs(file).map_or(&[], |(tower, _)| tower.not_looked_at)
}
