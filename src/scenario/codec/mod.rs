//! Links: the text behind `#` that carries a whole scenario.
//!
//! `v2&c=4k9&m=llama3-70b&hidden-size=5120&gpu=h100-80&n=64`: first the version, then a check sum,
//! then only what differs from the field table's defaults, one `key=value` per field: a key of the
//! model's `config.json` with `-` for `_`, else the table's key. Keys and defaults are frozen, so
//! that links keep their meaning: a test holds them equal to `tests/links/inputs`. Links of version
//! 1 are brought to version 2 (`codec/ladder.rs`). Where a mode begins with another value, as
//! serving does with one GPU, links state it. The other scenarios of a comparison, at most three,
//! follow as their differences from the first, with `b.`, `c.` and `d.` before each key, or from
//! the defaults after `b.new=1` where that is shorter. Only letters, digits, `-`, `.`, `=` and `&`
//! are used, and the text ends in a letter or digit, so that chat programs keep it whole. A link
//! carries inputs, never results.
//!
//! Parts about the page rather than the scenario ([`PAGE_KEYS`]) may stand anywhere; they are no
//! inputs, and the check sum leaves them out, so that they can be added to a link by hand.
//!
//! The check sum stands in front because a link is cut off at its end: there it would be the first
//! part to go. Links written by hand need none. Where it does not match, the link still means what
//! can be read of it, and a notice says that something may be missing.

mod read;
pub(super) use read::read_value;
use read::{UNNAMED, read_version, unlisted_word};
mod ladder;
mod wire;

use super::fields::EMPTY;
use super::{FieldId, FieldKind, Scenario, Value, field, fields, keys, layers, text};

/// The longest link that is written or read, in characters: what every browser, chat and mail
/// program carries.
pub const LONGEST: usize = 3400;

/// The most scenarios of a comparison, the first aside.
pub const MOST_COMPARED: usize = OTHERS.len();

/// The version of the links that are written.
const VERSION: &str = "v2";

/// The content of a link.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Decoded {
    /// The scenario; the default one if the link failed.
    pub scenario: Scenario,
    /// The other scenarios of a comparison, at most [`MOST_COMPARED`].
    pub compare: Vec<Scenario>,
    /// One sentence for everything that was unknown, replaced or left out.
    pub notices: Vec<String>,
    /// True if the check sum does not match: the link was changed by hand or cut off. The first
    /// notice says so.
    pub altered: bool,
    /// True if the link could not be used at all; the one notice says why.
    pub failed: bool,
}

impl Decoded {
    /// Returns the notices for a page that goes on showing what it showed where the link could not
    /// be used at all.
    pub fn notices_beside(&self) -> Vec<String> {
        let beside = |notice: &String| match notice.strip_suffix(DEFAULT_INSTEAD) {
            Some(reason) if self.failed => format!("{reason}The page stays as it was."),
            _ => notice.clone(),
        };
        self.notices.iter().map(beside).collect()
    }
}

/// Returns the link of a scenario, without `#`: version, check sum, and the inputs that were set.
///
/// ```
/// use headroom::scenario::{Scenario, codec};
/// let mut scenario = Scenario::default();
/// scenario.set_model("llama3-70b");
/// let link = codec::encode(&scenario);
/// assert!(link.starts_with("v2&c=") && link.ends_with("&m=llama3-70b"));
/// assert_eq!(codec::decode(&link).scenario, scenario);
/// ```
pub fn encode(scenario: &Scenario) -> String {
    encode_all(scenario, &[])
}

/// Returns the link of a scenario and those beside it, of which the last are left out where it
/// would be longer than [`LONGEST`].
pub fn encode_all(first: &Scenario, others: &[Scenario]) -> String {
    let full = Extras { unknown: true, names: true };
    let less = Extras { unknown: false, ..full };
    let mut link = String::new();
    for count in (0..=others.len().min(MOST_COMPARED)).rev() {
        for extras in [full, less, Extras { names: false, ..less }] {
            link = write(first, others.get(..count).unwrap_or_default(), extras);
            if link.len() <= LONGEST {
                return link;
            }
        }
    }
    link
}

/// Reads a link or its fragment and returns its scenario with notices: with or without `#` and
/// address, percent-encoded or not, with punctuation behind it, of this or any earlier version.
///
/// It has no error: a link that cannot be used gives the default scenario and one sentence. One
/// whose check sum does not match gives the values that it states, and a sentence.
///
/// ```
/// use headroom::scenario::codec::decode;
///
/// let read = decode("https://example.org/#v2&m=llama3-70b&n=16");
/// assert!(read.scenario.resolve().is_ok_and(|job| job.layout().world_size() == 16));
/// ```
pub fn decode(link: &str) -> Decoded {
    let fragment = match wire::fragment(link) {
        Ok(fragment) => fragment,
        Err(length) => {
            return failed(&format!(
                "This link has {length} characters, more than the {LONGEST} that links of this \
                 page have."
            ));
        }
    };
    if fragment.is_empty() {
        return Decoded::default();
    }
    let mut parts = fragment
        .split('&')
        .filter(|part| !part.is_empty() && !has_key(part, &PAGE_KEYS) && !is_of_lesson(part));
    let version = parts.next().unwrap_or_default();
    let mut parts: Vec<(&str, &str)> =
        parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
    if version != VERSION && version != ladder::FIRST {
        let is_version = version
            .strip_prefix('v')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
        return failed(&if is_version {
            format!(
                "This link has version {}, and this page knows versions up to {VERSION}: reload \
                 the page to get its newest form.",
                text::quoted(version)
            )
        } else {
            format!(
                "“{}” is not a link of this page: those start with {VERSION}.",
                text::quoted(&fragment)
            )
        });
    }
    let stated = parts.iter().find(|(key, _)| *key == CHECK).map(|(_, stated)| *stated);
    let altered = stated.is_some_and(|stated| {
        stated != wire::check_sum(version, parts.iter().filter(|(key, _)| *key != CHECK))
    });
    if !altered {
        return read_version(version, &parts);
    }
    // Cut off within a key, which then reads as another field's, or right behind it.
    parts.pop_if(|(_, value)| value.is_empty());
    if !parts.iter().any(|(key, value)| is_readable(version, key, value)) {
        return failed(
            "Nothing of this link can be read: it was changed by hand or cut off. Ask for it \
             again.",
        );
    }
    let mut decoded = read_version(version, &parts);
    decoded.altered = true;
    decoded.notices.insert(0, ALTERED.to_owned());
    decoded
}

/// The sentence about a link that was changed by hand or cut off.
const ALTERED: &str = "This link was changed by hand or cut off: its check sum does not match. \
    Shown is what it says; ask for it again if something is missing.";

/// True if this version understands a part of a link, of the first scenario or of another.
fn is_readable(version: &str, key: &str, value: &str) -> bool {
    let key = OTHERS.iter().find_map(|prefix| key.strip_prefix(prefix)).unwrap_or(key);
    let field = if version == VERSION { ladder::field(key) } else { ladder::field_of_first(key) };
    field.is_some_and(|field| {
        if is_start(field.id) {
            unlisted_word(value) != UNNAMED
        } else {
            read_value(field.id, value).is_ok()
        }
    })
}

/// Keys that say how the page shows itself: `embed=1` inside another page.
pub const PAGE_KEYS: [&str; 1] = ["embed"];

/// True if a part of a link, `key=value`, has one of these keys.
fn has_key(part: &str, keys: &[&str]) -> bool {
    keys.contains(&part.split_once('=').map_or(part, |(key, _)| key))
}

/// Returns a link with the parts of another one that are about the page.
///
/// ```
/// use headroom::scenario::codec::with_page_parts;
/// assert_eq!(with_page_parts("v2&n=8", "v2&embed=1&n=16"), "v2&n=8&embed=1");
/// ```
pub fn with_page_parts(link: &str, of: &str) -> String {
    let mut link = link.to_owned();
    for part in of.split('&').filter(|part| has_key(part, &PAGE_KEYS)) {
        link.push('&');
        link.push_str(part);
    }
    link
}

/// Keys that say which lesson is shown: a story and its step, a story in the link itself, a class's
/// worksheet. They are no inputs, and the check sum leaves them out.
pub const LESSON_KEYS: [&str; 3] = ["present", "story", "task"];

/// Returns true if a part of a link, `key=value`, is about a lesson.
pub fn is_of_lesson(part: &str) -> bool {
    has_key(part, &LESSON_KEYS)
}

/// The key of the check sum.
const CHECK: &str = "c";

/// How the notice of a link ends that could not be used at all.
const DEFAULT_INSTEAD: &str = "The default scenario is shown instead.";

fn failed(reason: &str) -> Decoded {
    let notice = format!("{reason} {DEFAULT_INSTEAD}");
    Decoded { notices: vec![notice], failed: true, ..Decoded::default() }
}

// Writing.

/// Optional parts of a link: true for those that are written, false for those that are left out
/// because the link would become too long.
#[derive(Clone, Copy)]
struct Extras {
    unknown: bool,
    names: bool,
}

fn write(first: &Scenario, others: &[Scenario], extras: Extras) -> String {
    let start = Scenario::default();
    let mut parts = changes(&start, first, "", extras);
    for (other, prefix) in others.iter().zip(OTHERS) {
        let mut changed = changes(first, other, prefix, extras);
        if changed.is_empty() {
            // Two equal scenarios are still a comparison.
            changed.push((
                format!("{prefix}{}", field(FieldId::Mode).key),
                write_value(FieldId::Mode, &other.get(FieldId::Mode)),
            ));
        }
        // Two scenarios that have little in common are shorter side by side than as differences.
        let mut afresh = vec![(format!("{prefix}{AFRESH}"), "1".to_owned())];
        afresh.append(&mut changes(&start, other, prefix, extras));
        if length(&afresh) < length(&changed) {
            changed = afresh;
        }
        parts.append(&mut changed);
    }
    let sum = wire::check_sum(VERSION, parts.iter());
    let mut link = format!("{VERSION}&{CHECK}={sum}");
    for (key, value) in parts {
        for text in ["&", &key, "=", &value] {
            link.push_str(text);
        }
    }
    link
}

/// Prefixes of the keys of the other scenarios.
const OTHERS: [&str; 3] = ["b.", "c.", "d."];

/// The key that says that another scenario starts from the version's defaults, not from the first.
const AFRESH: &str = "new";

/// The word in place of a value for a key that the first scenario sets and another does not.
const UNSET: &str = "unset";

/// Characters of some parts with the signs that join them.
fn length(parts: &[(String, String)]) -> usize {
    parts.iter().map(|(key, value)| key.len() + value.len() + 2).sum()
}

/// Names that people gave the scenario and its model. A model without its name goes by its kind and
/// its size.
const NAMES: [FieldId; 2] = [FieldId::Name, FieldId::ModelName];

/// Everything to set, in order, to turn `base` into `target`.
fn changes(
    base: &Scenario,
    target: &Scenario,
    prefix: &str,
    extras: Extras,
) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let by_hand = !target.reads_keys();
    // Whoever reads the link starts from stated values: what follows here is stated too.
    let mut base = base.settled();
    // Model and accelerator first: they decide what the other fields start from.
    for id in [FieldId::Model, FieldId::Accelerator] {
        if let Value::Text(word) = target.get(id)
            && base.get(id) != target.get(id)
        {
            base.start_from(id, &word);
            parts.push((format!("{prefix}{}", field(id).key), write_value(id, &target.get(id))));
        }
    }
    for field in fields() {
        let value = target.get(field.id);
        // Keys that nobody set follow from those that were set.
        let differs = if field.default.is_of_model() {
            target.set.get(&field.id) != base.set.get(&field.id)
        } else {
            value != base.get(field.id)
        };
        if differs && field.default.is_of_model() && !by_hand && !target.is_set(field.id) {
            parts.push((format!("{prefix}{}", ladder::key(field, by_hand)), UNSET.to_owned()));
            base.unset_key(field.id);
        } else if differs && (extras.names || !NAMES.contains(&field.id)) {
            parts.push((
                format!("{prefix}{}", ladder::key(field, by_hand)),
                write_value(field.id, &value),
            ));
            // The value may decide what a later field starts from, as experts do for adapters.
            if field.default.is_of_model() {
                base.state_key(field.id, value);
            } else {
                base.set(field.id, value);
            }
        }
    }
    if extras.unknown {
        let unknown = target.unknown.iter().filter(|part| !base.unknown.contains(part));
        parts.extend(unknown.map(|(key, value)| (format!("{prefix}{key}"), value.clone())));
    }
    parts
}

pub(super) fn write_value(id: FieldId, value: &Value) -> String {
    match value {
        Value::Integer(number) => {
            let digits = number.to_string();
            let short = digits.trim_end_matches('0');
            let zeros = digits.len() - short.len();
            if zeros >= 5 && !short.is_empty() { format!("{short}e{zeros}") } else { digits }
        }
        Value::Decimal(number) => number.to_string(),
        Value::Choice(word) => (*word).to_owned(),
        Value::Flag(yes) => if *yes { "1" } else { "0" }.to_owned(),
        Value::Text(text) => match field(id).kind {
            FieldKind::Text { .. } => wire::escape(text),
            FieldKind::Words { .. } => keys::write_words(text),
            FieldKind::Keys { .. } if text.is_empty() => EMPTY.to_owned(),
            FieldKind::Keys { .. } => keys::write(text),
            _ => text.clone(),
        },
        Value::Layers(set) => layers::short_word(set),
        Value::Empty => EMPTY.to_owned(),
    }
}

// Reading.

/// True if a field is the model or the accelerator, which decide the values that other fields start
/// from.
const fn is_start(id: FieldId) -> bool {
    matches!(id, FieldId::Model | FieldId::Accelerator)
}
