//! A file's vision part: the tower and its projector, where both are known.
//!
//! Keys of the vision part stand beside those of the text part, as `vision_config.hidden_size`,
//! once [`super::vision_part::beside`] has put them there; so a scenario and a link carry them like all others.

use super::reader::Reader;
use super::sizes::{MAX_SIZE, number_below, whole};
use super::value::{Object, Value};
use super::{How, ImportError};
use crate::config::{ModelConfig, Tower, TowerModules, TowerSize, TowerSizes, number_of_function};
use crate::models::{self, Ties, TowerDefault, TowerKey, TowerSpec, VISION_KIND, VISION_OF};

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

/// The kind that a vision part says it is.
pub(super) fn kind_of(vision: &Object) -> Option<&str> {
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

/// Who says whether the head of a whole file reuses the embedding; `None` where its text part's
/// kind does.
pub(super) fn ties(file: &Reader<'_>) -> Option<Ties> {
    let (tower, projector) = specs(file)?;
    let Some(Value::Text(whole)) = file.peek(VISION_OF) else { return None };
    let listed = projector.into_iter().chain([tower]).flat_map(|spec| spec.ties);
    listed.copied().find_map(|(kind, ties)| (kind == whole).then_some(ties))
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
    let value = value_of(file, key, default, stated)?;
    let (how, note) =
        if stated.is_some() { (How::Read, "") } else { (How::Assumed, "The library's default.") };
    file.tell(key, &value, how, note);
    Ok(value)
}

/// The size that a key states, or else its default.
fn value_of(
    file: &Reader<'_>,
    key: &'static str,
    default: TowerDefault,
    stated: Option<&Value>,
) -> Result<u64, ImportError> {
    Ok(match (default, stated) {
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
        (TowerDefault::Below { layers, places }, stated) => {
            below(file, key, (layers, places), stated)?
        }
        (TowerDefault::Count(_), Some(value)) => count(key, value)?,
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
        (TowerDefault::Places(_), Some(list)) => bits(key, list)?,
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
            number_of_function(super::activation::named_activation(stated))
        }
        (
            TowerDefault::Word(_) | TowerDefault::OnlyWord(_) | TowerDefault::Function(_),
            Some(other),
        ) => {
            return Err(ImportError::wrong_type(key, "text", other));
        }
    })
}

/// The number of places below the number of layers under that key: of a stated list, of the
/// library's, or as it is stated.
fn below(
    file: &Reader<'_>,
    key: &str,
    ((of_layers, default), places): ((&str, u64), &[u64]),
    stated: Option<&Value>,
) -> Result<u64, ImportError> {
    let layers = match file.peek(of_layers) {
        Some(Value::Whole(layers)) => *layers,
        _ => default,
    };
    match stated {
        None => {
            let number = places.iter().filter(|place| **place < layers).count();
            Ok(u64::try_from(number).unwrap_or_default())
        }
        Some(Value::List(places)) => Ok(number_below(places, layers)),
        Some(Value::Whole(0)) => Ok(0),
        Some(value) => count(key, value),
    }
}

/// A list of places, in the words of an error.
const PLACES: &str = "a list of whole numbers below 64";

/// A list of places as bits.
fn bits(key: &str, list: &Value) -> Result<u64, ImportError> {
    let wrong = || ImportError::wrong_type(key, PLACES, list);
    let Value::List(items) = list else { return Err(wrong()) };
    let bit = |item: &Value| match item {
        Value::Whole(place) => {
            u32::try_from(*place).ok().and_then(|place| 1_u64.checked_shl(place))
        }
        _ => None,
    };
    items.iter().try_fold(0, |bits, item| bit(item).map(|bit| bits | bit)).ok_or_else(wrong)
}

/// How many members a list has, or a number of them.
fn count(key: &str, value: &Value) -> Result<u64, ImportError> {
    match value {
        Value::List(items) => Ok(u64::try_from(items.len()).unwrap_or_default()),
        number => whole(key, number, 1024),
    }
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
