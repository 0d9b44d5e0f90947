//! A file's vision part put beside its text part, in the words of one table.
//!
//! Its keys are stated as `vision_config.hidden_size`, those of its projector under their own name.

use super::sizes::number_below;
use super::tower::kind_of;
use super::value::{Object, Value};
use crate::config::{GRID, TowerSize};
use crate::models::{
    self, FURTHER, Known, TowerDefault, TowerGroup, TowerKey, TowerOnly, TowerSpec, VISION,
    VISION_KIND, VISION_OF,
};

/// Puts the keys of a known vision part, and those of its projector, beside the keys of the text
/// part.
pub(super) fn beside(base: &mut Object, around: &Object) {
    let Some(Value::Text(kind)) = around.get("model_type") else { return };
    let vision = match around.get("vision_config") {
        Some(Value::Object(vision)) => Some(vision),
        _ => None,
    };
    let Some((tower, projector)) = models::of_file(kind, vision.and_then(kind_of)) else { return };
    let specs = || [Some(tower), projector].into_iter().flatten();
    let is_saved_as = |class: &str| matches!(around.get("architectures"), Some(Value::List(classes)) if classes.iter().any(|of| matches!(of, Value::Text(of) if of == class)));
    if specs().any(|spec| is_saved_as(spec.text_class)) {
        return;
    }
    // A file of a kind that keeps the sizes of its tower elsewhere has no vision part.
    let stands_elsewhere =
        specs().any(|spec| !spec.groups.is_empty()) && !specs().any(|spec| spec.may_be_blind);
    if vision.is_none() && !stands_elsewhere {
        return;
    }
    let with = |prefix: &'static str| {
        move |(key, value): (&String, &Value)| (format!("{prefix}{key}"), value.clone())
    };
    let mut found: Vec<(String, Value)> = vision.into_iter().flatten().map(with(VISION)).collect();
    found.retain(|(key, value)| {
        key != VISION_KIND || !matches!(value, Value::Text(kind) if kind.is_empty())
    });
    for (old, own) in specs().flat_map(|spec| spec.renamed) {
        found.iter_mut().filter(|(key, _)| key == old).for_each(|(key, _)| (*own).clone_into(key));
    }
    let keys = || specs().flat_map(|spec| spec.keys);
    for group in specs().flat_map(|spec| spec.groups) {
        let Some(of_group) = keys_of(around, group) else { return };
        let names = || {
            keys().map(|of| of.key).chain(specs().flat_map(|spec| spec.only).map(|only| only.key))
        };
        let is_read = |key: &str| names().any(|of| of.strip_prefix(group.prefix) == Some(key));
        // Of the file itself, and of its text part, other keys say nothing about a tower.
        let is_file = group.path.is_empty() || group.path == "text_config";
        let counts = |key: &str| key != "model_type" && (!is_file || is_read(key));
        found.extend(of_group.iter().filter(|(key, _)| counts(key)).map(with(group.prefix)));
    }
    let in_a_group = |key: &str| [VISION, FURTHER].iter().any(|prefix| key.starts_with(prefix));
    let of_file = keys().filter(|of| !in_a_group(of.key));
    found.extend(of_file.filter_map(|of| Some((of.key.to_owned(), around.get(of.key)?.clone()))));
    found.extend(behind(projector, around, stated(tower, vision, TowerSize::Layers)));
    found.extend(fed_behind(tower, vision));
    found.extend(grids(projector, around, stated(tower, vision, TowerSize::Image)));
    for only in specs().flat_map(|spec| spec.only) {
        if only.is_another(&found) {
            return;
        }
        found.retain(|(key, _)| key != only.key);
    }
    keys().for_each(|of| count_below(of, &mut found));
    for (key, value) in &mut found {
        let read = keys().find(|of| of.key == key);
        match read.map_or(Some(value.clone()), |of| simple(of.default, value)) {
            Some(simple) => *value = simple,
            // The value is too complex for the tower, such as images that are not square: the tower
            // is left out, and named.
            None => return,
        }
    }
    base.insert(VISION_OF.to_owned(), Value::Text(kind.clone()));
    base.extend(found);
}

impl TowerOnly {
    /// True where the keys state modules of another structure, which are not known: the tower is
    /// left out, and named.
    fn is_another(&self, keys: &[(String, Value)]) -> bool {
        keys.iter()
            .any(|(key, value)| key == self.key && *value != Value::Null && !self.fits(value))
    }

    fn fits(&self, value: &Value) -> bool {
        // Yes and no are counted as 1 and 0.
        let is = |known: u64, item: &Value| {
            *item == Value::Whole(known) || *item == Value::Bool(known == 1)
        };
        match (self.is, value) {
            (Known::Off, Value::Bool(yes)) => !yes,
            (Known::Numbers(known), Value::List(items)) => {
                known.len() == items.len()
                    && known.iter().zip(items).all(|(known, item)| is(*known, item))
            }
            (Known::Numbers([known]), one) => is(*known, one),
            (Known::Word(word), Value::Text(text) | Value::OtherNumber(text)) => word == text,
            (Known::Off | Known::Numbers(_) | Known::Word(_), _) => false,
        }
    }
}

/// The keys of a group, none where the file has none; `None` where it is of another kind, or no
/// group at all.
fn keys_of(around: &Object, group: &TowerGroup) -> Option<Object> {
    let mut keys = around;
    for name in group.path.split('.').filter(|name| !name.is_empty()) {
        match keys.get(name) {
            Some(Value::Object(inner)) => keys = inner,
            None | Some(Value::Null) => return Some(Object::new()),
            Some(_) => return None,
        }
    }
    let fits = |kind: &str| group.kinds.is_empty() || group.kinds.contains(&kind);
    kind_of(keys).is_none_or(fits).then(|| keys.clone())
}

/// A size of the tower that is stated as a number, or that the library takes.
fn stated(tower: &TowerSpec, vision: Option<&Object>, size: TowerSize) -> u64 {
    let of = tower.keys.iter().find(|of| of.size == size);
    let stated = of.and_then(|of| vision?.get(of.key.strip_prefix(VISION)?));
    match (stated, of.map(|of| of.default)) {
        (Some(Value::Whole(number)), _) => *number,
        (_, Some(TowerDefault::Is(number))) => number,
        _ => 0,
    }
}

/// The resolutions that an image is cut into, in tiles of that side, where the file lists them:
/// places in a square of eight by eight; none where one of them is no whole number of tiles.
fn grids(projector: Option<&TowerSpec>, around: &Object, side: u64) -> Option<(String, Value)> {
    let key = projector?
        .keys
        .iter()
        .find(|of| of.key.strip_suffix(IN_TILES).is_some_and(|key| around.contains_key(key)))?
        .key;
    let Some(Value::List(pairs)) = around.get(key.strip_suffix(IN_TILES)?) else { return None };
    let tiles = |length: &Value| match length {
        Value::Whole(length) if side > 0 && length.is_multiple_of(side) => {
            (length / side).checked_sub(1).filter(|tiles| *tiles < GRID)
        }
        _ => None,
    };
    let place = |pair: &Value| match pair {
        Value::List(pair) => match pair.as_slice() {
            [height, width] => Some(Value::Whole(tiles(height)? * GRID + tiles(width)?)),
            _ => None,
        },
        _ => None,
    };
    let places = pairs.iter().map(place).collect::<Option<Vec<Value>>>().unwrap_or_default();
    Some((key.to_owned(), Value::List(places)))
}

/// How a key ends that says in tiles what the file says in pixels.
const IN_TILES: &str = "_in_tiles";

/// How many blocks lie behind the one that the projector reads, where the file says which that is:
/// counted from the last, as −2, or from the embedded patches on.
fn behind(projector: Option<&TowerSpec>, around: &Object, layers: u64) -> Option<(String, Value)> {
    let key = projector?.keys.iter().find(|of| of.size == TowerSize::Behind)?.key;
    let behind = match around.get(FEATURE_LAYER)? {
        Value::Whole(layer) => layers.checked_sub(*layer)?,
        Value::OtherNumber(text) => text.strip_prefix('-')?.parse::<u64>().ok()?.checked_sub(1)?,
        _ => return None,
    };
    Some((key.to_owned(), Value::Whole(behind)))
}

/// The blocks that feed the text's, beside their number, which links state by the file's own key.
fn fed_behind(tower: &TowerSpec, vision: Option<&Object>) -> Option<(String, Value)> {
    let beside = tower
        .keys
        .iter()
        .find(|of| matches!(of.default, TowerDefault::Places(_)) && of.key.ends_with(BEHIND))?
        .key;
    let listed = vision?.get(beside.strip_prefix(VISION)?.strip_suffix(BEHIND)?)?;
    matches!(listed, Value::List(_)).then(|| (beside.to_owned(), listed.clone()))
}

/// How a key ends that says which blocks a number of them are.
const BEHIND: &str = "_behind";

/// The key that says which block of the tower the projector reads.
const FEATURE_LAYER: &str = "vision_feature_layer";

/// Puts the number of places below the number of layers in the place of a list of such places.
fn count_below(of: &TowerKey, found: &mut [(String, Value)]) {
    let TowerDefault::Below { layers: (key, default), .. } = of.default else { return };
    let layers = found.iter().find_map(|(name, value)| match value {
        Value::Whole(layers) if name == key => Some(*layers),
        _ => None,
    });
    let layers = layers.unwrap_or(default);
    for (_, value) in found.iter_mut().filter(|(name, _)| name == of.key) {
        if let Value::List(places) = value {
            *value = Value::Whole(number_below(places, layers));
        }
    }
}

/// A value as a scenario can hold it: of a list of layers their number, of equal sides one; `None`
/// where there is none.
fn simple(default: TowerDefault, value: &Value) -> Option<Value> {
    match (default, value) {
        (TowerDefault::Count(_), Value::List(layers)) => {
            u64::try_from(layers.len()).ok().map(Value::Whole)
        }
        (TowerDefault::Count(_), Value::Whole(_) | Value::OtherNumber(_))
        | (TowerDefault::There, Value::Object(_)) => Some(Value::Whole(1)),
        (TowerDefault::Second(_), Value::List(both)) => both.get(1).cloned(),
        (TowerDefault::Times(word, _), Value::List(words)) => {
            let times = words
                .iter()
                .filter(|item| matches!(item, Value::Text(text) if text == word))
                .count();
            u64::try_from(times).ok().map(Value::Whole)
        }
        (TowerDefault::Sum { of, members, .. }, Value::Object(groups))
            if u64::try_from(groups.len()) == Ok(members) =>
        {
            let number = |group: &Value| match group {
                Value::Object(group) => match group.get(of) {
                    Some(Value::Whole(number)) => Some(*number),
                    _ => None,
                },
                _ => None,
            };
            groups.values().map(number).sum::<Option<u64>>().map(Value::Whole)
        }
        (TowerDefault::Doubling(_), Value::List(widths)) => {
            let twice = |pair: &[Value]| matches!(pair, [Value::Whole(one), Value::Whole(next)] if one.checked_mul(2) == Some(*next));
            widths.first().filter(|_| widths.windows(2).all(twice)).cloned()
        }
        (TowerDefault::Sum { .. }, Value::Object(_))
        | (TowerDefault::Is(_) | TowerDefault::May(_), Value::OtherNumber(_)) => None,
        (TowerDefault::Is(_), Value::List(sides)) => match sides.as_slice() {
            [first @ Value::Whole(_), others @ ..] if others.iter().all(|other| other == first) => {
                Some(first.clone())
            }
            _ => None,
        },
        _ => Some(value.clone()),
    }
}
