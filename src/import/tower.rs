//! A file's vision part: the tower and its projector, where both are known.
//!
//! Keys of the vision part stand beside those of the text part, as `vision_config.hidden_size`,
//! once [`beside`] has put them there; so a scenario and a link carry them like all others.

use super::reader::{MAX_SIZE, Reader, whole};
use super::value::{Object, Value};
use super::{How, ImportError};
use crate::config::{
    GRID, ModelConfig, Tower, TowerModules, TowerSize, TowerSizes, number_of_function,
};
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
    // Modules of another structure are not known: the tower is left out, and named.
    for only in specs().flat_map(|spec| spec.only) {
        if found
            .iter()
            .any(|(key, value)| key == only.key && *value != Value::Null && !only.fits(value))
        {
            return;
        }
        found.retain(|(key, _)| key != only.key);
    }
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

/// The groups of the file that the tower and the projector of these keys stand in: none where they
/// speak of no tower.
pub(super) fn groups(base: &Object) -> Vec<&'static str> {
    let text = |key: &str| match base.get(key) {
        Some(Value::Text(kind)) => Some(kind.as_str()),
        _ => None,
    };
    let Some((tower, projector)) =
        text(VISION_OF).and_then(|whole| models::of_file(whole, text(VISION_KIND)))
    else {
        return Vec::new();
    };
    let further = [Some(tower), projector].into_iter().flatten().flat_map(|spec| spec.groups);
    let of_file =
        further.filter_map(|group| group.path.split('.').next().filter(|name| !name.is_empty()));
    std::iter::once("vision_config").chain(of_file).collect()
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

/// The kind that a vision part says it is.
fn kind_of(vision: &Object) -> Option<&str> {
    match vision.get("model_type") {
        Some(Value::Text(kind)) if !kind.is_empty() => Some(kind),
        _ => None,
    }
}

/// The tower and the projector of keys, before that text; `None` where the keys speak of none that
/// is known.
///
/// # Errors
/// A sentence about a size that is no size.
pub(super) fn tower(
    file: &mut Reader<'_>,
    text: &ModelConfig,
) -> Result<Option<Tower>, ImportError> {
    let Some((spec, projector)) = specs(file) else { return Ok(None) };
    file.done_with(&[VISION_OF, VISION_KIND]);
    let mut sizes = TowerSizes::NONE;
    let of_text = [
        (TowerSize::Text, text.hidden_size),
        (TowerSize::TextInner, text.intermediate_size),
        (TowerSize::TextQueries, text.num_attention_heads.saturating_mul(text.head_dim)),
        (TowerSize::TextKeys, text.num_key_value_heads.saturating_mul(text.head_dim)),
        (TowerSize::TextHead, text.head_dim),
        (TowerSize::TextLayers, text.num_hidden_layers),
        (TowerSize::TextPositions, text.max_position_embeddings),
        (TowerSize::TextSparse, sparse(text)),
        (TowerSize::TextExperts, text.moe.as_ref().map_or(0, |moe| moe.num_experts)),
    ];
    for (size, value) in of_text {
        sizes.set(size, value);
    }
    read(file, spec, &mut sizes)?;
    if let Some(projector) = projector {
        read(file, projector, &mut sizes)?;
    }
    for [width, rows] in [Some(spec), projector].into_iter().flatten().filter_map(|spec| spec.head)
    {
        // A head of another shape than the text's is not counted.
        if !text.tie_word_embeddings
            && [sizes.get(width), sizes.get(rows)] != [text.hidden_size, text.vocab_size]
        {
            let keys = [Some(spec), projector].into_iter().flatten().flat_map(|spec| spec.keys);
            keys.filter(|of| of.size == width || of.size == rows)
                .for_each(|of| file.disagrees(of.key));
        }
    }
    let modules = spec.modules;
    let projector = projector.map_or(&TowerModules::NONE, |projector| projector.modules);
    Ok(Some(Tower { modules, projector, sizes }))
}

/// Layers with experts.
fn sparse(text: &ModelConfig) -> u64 {
    let has = |layer: &u64| text.moe.as_ref().is_some_and(|moe| moe.layers.contains(*layer));
    u64::try_from((0..text.num_hidden_layers).filter(has).count()).unwrap_or_default()
}

/// The tower and the projector that the keys speak of.
fn specs(file: &Reader<'_>) -> Option<(&'static TowerSpec, Option<&'static TowerSpec>)> {
    let text = |key| match file.peek(key) {
        Some(Value::Text(kind)) => Some(kind.as_str()),
        _ => None,
    };
    models::of_file(text(VISION_OF)?, text(VISION_KIND))
}

fn read(
    file: &mut Reader<'_>,
    spec: &TowerSpec,
    sizes: &mut TowerSizes,
) -> Result<(), ImportError> {
    for TowerKey { size, key, default } in spec.keys {
        let value = one(file, key, *default)?;
        sizes.set(*size, value);
    }
    (spec.follow)(sizes);
    Ok(())
}

/// One size.
fn one(
    file: &mut Reader<'_>,
    key: &'static str,
    default: TowerDefault,
) -> Result<u64, ImportError> {
    let stated = file.peek(key);
    file.done_with(&[key]);
    let value = match (default, stated) {
        (
            TowerDefault::May(_) | TowerDefault::Times(..) | TowerDefault::Count(_),
            Some(Value::Whole(0)),
        )
        | (TowerDefault::OnlyWord(_), None) => 0,
        (
            TowerDefault::Is(_)
            | TowerDefault::May(_)
            | TowerDefault::Second(_)
            | TowerDefault::Doubling(_)
            | TowerDefault::Sum { .. }
            | TowerDefault::Times(..),
            Some(value),
        ) => whole(key, value, MAX_SIZE)?,
        (TowerDefault::Count(_), Some(Value::List(items))) => {
            u64::try_from(items.len()).unwrap_or_default()
        }
        (TowerDefault::Count(_), Some(value)) => whole(key, value, 1024)?,
        (TowerDefault::Flag(yes), None) => u64::from(yes),
        (TowerDefault::Flag(_), Some(Value::Bool(yes))) => u64::from(*yes),
        (TowerDefault::Flag(_), Some(other)) => {
            return Err(ImportError::wrong_type(key, "true or false", other));
        }
        (
            TowerDefault::Is(number)
            | TowerDefault::May(number)
            | TowerDefault::Count(number)
            | TowerDefault::OneOver(number)
            | TowerDefault::Second(number)
            | TowerDefault::Doubling(number)
            | TowerDefault::Sum { default: number, .. }
            | TowerDefault::Times(_, number)
            | TowerDefault::Places(number),
            None,
        ) => number,
        (TowerDefault::Places(_), Some(list)) => {
            bits(list).ok_or_else(|| ImportError::wrong_type(key, PLACES, list))?
        }
        (TowerDefault::OneOver(_), Some(value)) => one_over(key, value)?,
        (TowerDefault::Word(_), None) => 1,
        (TowerDefault::There, there) => {
            u64::from(there.is_some_and(|there| *there != Value::Whole(0)))
        }
        (TowerDefault::Word(word) | TowerDefault::OnlyWord(word), Some(Value::Text(stated))) => {
            u64::from(stated == word)
        }
        (TowerDefault::Function(default), None) => number_of_function(Some(default)),
        (TowerDefault::Function(_), Some(Value::Text(stated))) => {
            number_of_function(super::decoder::named_activation(stated))
        }
        (
            TowerDefault::Word(_) | TowerDefault::OnlyWord(_) | TowerDefault::Function(_),
            Some(other),
        ) => {
            return Err(ImportError::wrong_type(key, "text", other));
        }
    };
    let (how, note) =
        if stated.is_some() { (How::Read, "") } else { (How::Assumed, "The library's default.") };
    file.tell(key, &value, how, note);
    Ok(value)
}

/// A list of places, in the words of an error.
const PLACES: &str = "a list of whole numbers below 64";

/// A list of places as bits.
fn bits(list: &Value) -> Option<u64> {
    let Value::List(items) = list else { return None };
    let bit = |item: &Value| match item {
        Value::Whole(place) => {
            u32::try_from(*place).ok().and_then(|place| 1_u64.checked_shl(place))
        }
        _ => None,
    };
    items.iter().try_fold(0, |bits, item| bit(item).map(|bit| bits | bit))
}

/// A share such as 0.5 as the number of parts, here 2.
fn one_over(key: &str, value: &Value) -> Result<u64, ImportError> {
    let wrong = || ImportError::wrong_type(key, "one over a whole number, such as 0.5", value);
    let Value::OtherNumber(text) = value else { return whole(key, value, 1) };
    let share: f64 = text.parse().map_err(|_| wrong())?;
    (2..=64_u32)
        .find(|parts| (share * f64::from(*parts) - 1.0).abs() < 1e-6)
        .map(u64::from)
        .ok_or_else(wrong)
}

/// Keys of the vision part that nothing looks at and that sound as if they changed a shape.
pub(super) fn not_looked_at(file: &Reader<'_>) -> Vec<&'static str> {
    let of = |(tower, projector): (&'static TowerSpec, Option<&'static TowerSpec>)| {
        let projector = projector.map_or(&[][..], |projector| projector.not_looked_at);
        tower.not_looked_at.iter().chain(projector).copied().collect()
    };
    specs(file).map(of).unwrap_or_default()
}
