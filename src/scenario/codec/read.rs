//! Reading of links: fields, values, and a sentence about each part that is not understood.

use super::{AFRESH, CHECK, Decoded, OTHERS, UNSET, VERSION, is_start, ladder, wire};
use crate::scenario::fields::EMPTY;
use crate::scenario::names::listed;
use crate::scenario::{FieldId, FieldKind, Scenario, Value, field, keys, parse, text};
use crate::units::sort_short;

/// The most notices given for one link.
pub(super) const MOST_NOTICES: usize = 12;

/// The most unknown parts kept of one link.
pub(super) const MOST_UNKNOWN: usize = 16;

/// The longest word that a link keeps for a name that this version does not know.
pub(super) const LONGEST_UNKNOWN: usize = 60;

/// Reads the parts of a link of that version, brought to the newest one.
pub(super) fn read_version(version: &str, parts: &[(&str, &str)]) -> Decoded {
    if version == VERSION {
        return read(parts);
    }
    let climbed = ladder::from_first(parts);
    read(&climbed.iter().map(|(key, value)| (key.as_str(), *value)).collect::<Vec<_>>())
}

pub(super) fn read(parts: &[(&str, &str)]) -> Decoded {
    let mut notices = Vec::new();
    let is_others = |key: &str| OTHERS.iter().any(|prefix| key.starts_with(prefix));
    let first: Vec<(&str, &str)> =
        parts.iter().copied().filter(|(key, _)| *key != CHECK && !is_others(key)).collect();
    let start = Scenario::default();
    let scenario = read_side(&start, &first, &mut notices);
    let mut compare = Vec::new();
    for prefix in OTHERS {
        let of_it: Vec<(&str, &str)> = parts
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, *value)))
            .collect();
        if of_it.is_empty() {
            continue;
        }
        let base = if of_it.iter().any(|(key, _)| *key == AFRESH) { &start } else { &scenario };
        let of_it: Vec<(&str, &str)> =
            of_it.into_iter().filter(|(key, _)| *key != AFRESH).collect();
        let mut told = Vec::new();
        let other = read_side(base, &of_it, &mut told);
        told.extend(
            [FieldId::Model, FieldId::Accelerator]
                .into_iter()
                .filter_map(|id| not_listed(&other, &scenario, id)),
        );
        compare.push(other);
        let place = if compare.len() == 1 { "second" } else { "third or fourth" };
        notices.extend(told.into_iter().map(|notice| format!("In the {place} scenario: {notice}")));
    }
    if notices.len() > MOST_NOTICES {
        let more = notices.len() - MOST_NOTICES;
        notices.truncate(MOST_NOTICES);
        notices.push(format!("{more} more parts of the link could not be used."));
    }
    Decoded { scenario, compare, notices, ..Decoded::default() }
}

pub(super) fn read_side(
    start: &Scenario,
    parts: &[(&str, &str)],
    notices: &mut Vec<String>,
) -> Scenario {
    // A link states values, by its version's defaults where it says nothing: none of them follows.
    let mut scenario = start.settled();
    // The last word on a field counts.
    let mut values: Vec<(FieldId, &str)> = Vec::new();
    for (key, value) in parts {
        match ladder::field(key) {
            Some(field) => {
                values.retain(|(known, _)| *known != field.id);
                values.push((field.id, value));
            }
            None => keep_unknown(&mut scenario, key, value, notices),
        }
    }
    sort_short(&mut values, |a, b| a.0 < b.0);
    for (id, value) in values.iter().filter(|(id, _)| is_start(*id)) {
        read_start(&mut scenario, *id, value, notices);
    }
    for (id, value) in values.iter().filter(|(id, _)| !is_start(*id)) {
        if *value == UNSET && field(*id).default.is_of_model() {
            scenario.unset_key(*id);
            continue;
        }
        match read_value(*id, value) {
            Ok(value) if field(*id).default.is_of_model() && scenario.reads_keys() => {
                scenario.state_key(*id, value);
            }
            Ok(value) => scenario.set(*id, value),
            Err(sentence) => notices.push(format!("{sentence} The link's value is left out.")),
        }
    }
    scenario.drop_what_is_default();
    scenario.as_opened();
    scenario
}

/// Reads the model or the accelerator. One that the list does not have is kept by its word, for the
/// scenario to refuse.
pub(super) fn read_start(
    scenario: &mut Scenario,
    id: FieldId,
    value: &str,
    notices: &mut Vec<String>,
) {
    let word = unlisted_word(value);
    let found = listed(id, value).row().or_else(|| listed(id, &word).row());
    if let Some((row, name)) = found
        && !row.eq_ignore_ascii_case(value)
    {
        notices.push(format!(
            "The {} “{}” is listed here as {name}.",
            start_name(id),
            text::quoted(value)
        ));
    }
    scenario.start_from(id, found.map_or(&word, |(row, _)| row));
}

/// The word for the model or the accelerator in sentences.
pub(super) const fn start_name(id: FieldId) -> &'static str {
    if matches!(id, FieldId::Model) { "model" } else { "GPU" }
}

/// A link's word for a model or an accelerator as the next link can carry it, in letters, digits,
/// `-` and `.`.
pub(super) fn unlisted_word(value: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    let word: String = value.chars().filter(plain).take(LONGEST_UNKNOWN).collect();
    let word = word.trim_matches(['-', '.']);
    if word.is_empty() { UNNAMED.to_owned() } else { word.to_owned() }
}

/// Word for a model or an accelerator of whose name a link holds no letter.
pub(super) const UNNAMED: &str = "unnamed";

/// A sentence about another scenario's model or accelerator that the list does not have. The first
/// scenario's stands on the answer.
pub(super) fn not_listed(other: &Scenario, first: &Scenario, id: FieldId) -> Option<String> {
    let Value::Text(word) = other.get(id) else { return None };
    let news = other.is_unlisted(id) && first.get(id) != other.get(id);
    news.then(|| format!("The {} “{}” is not in the list.", start_name(id), text::quoted(&word)))
}

pub(in crate::scenario) fn read_value(id: FieldId, value: &str) -> Result<Value, String> {
    match field(id).kind {
        FieldKind::Text { .. } => parse(id, &wire::unescape(value)),
        FieldKind::Keys { .. } if value != EMPTY => parse(id, &keys::read(value)),
        FieldKind::Keys { .. } => parse(id, ""),
        _ => parse(id, value),
    }
}

/// Keeps a part that this version does not know, so that sharing the scenario again does not lose
/// it, and says so.
pub(super) fn keep_unknown(
    scenario: &mut Scenario,
    key: &str,
    value: &str,
    notices: &mut Vec<String>,
) {
    let part =
        text::quoted(&if value.is_empty() { key.to_owned() } else { format!("{key}={value}") });
    let plain = |text: &str| {
        let last = text.bytes().last();
        text.len() <= LONGEST_UNKNOWN
            && last.is_some_and(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
    };
    let kept = plain(key) && plain(value) && scenario.unknown.len() < MOST_UNKNOWN;
    if kept {
        // In the order of their names, each once: two links that say the same make equal scenarios.
        scenario.unknown.retain(|(known, _)| known != key);
        scenario.unknown.push((key.to_owned(), value.to_owned()));
        sort_short(&mut scenario.unknown, |a, b| a.0 < b.0);
        notices.push(format!(
            "This version does not know the link's part “{part}”; it is kept for the next link."
        ));
    } else {
        notices
            .push(format!("This version does not know the link's part “{part}”; it is left out."));
    }
}
