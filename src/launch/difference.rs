//! The difference of two scenarios as settings of a tool: the changes that turn the command of one
//! into the command of the other.

use std::fmt;

use super::{Format, Item, write};
use crate::scenario::Scenario;

/// A setting that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// The tool's name for it, with the dashes of a command line.
    pub key: String,
    /// The value before; `None` where the setting is new. A flag without a value has an empty one.
    pub before: Option<String>,
    /// The value afterwards; `None` where the setting is left out.
    pub after: Option<String>,
}

impl fmt::Display for SettingChange {
    /// `change --max-model-len 40960 → 32768`, `add --enforce-eager`, `leave out --x`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value =
            |value: &str| if value.is_empty() { String::new() } else { format!(" {value}") };
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                write!(formatter, "change {} {before} → {after}", self.key)
            }
            (None, Some(after)) => write!(formatter, "add {}{}", self.key, value(after)),
            (_, None) => write!(formatter, "leave out {}", self.key),
        }
    }
}

/// Returns the settings of one tool that turn `before` into `after`; `None` where nothing changes,
/// and where the tool has no word for a change.
///
/// Both scenarios are written as commands, and the settings of the two texts compared.
///
/// ```
/// use headroom::launch::{Format, difference};
/// use headroom::scenario::{FieldId, Value, codec::decode};
///
/// let vllm = Format::named("vllm").expect("a tool of the list");
/// let before = decode("v2&do=serve&m=qwen2.5-72b&srv=vllm&n=4&tp=4&ctx=32768").scenario;
/// let mut after = before.clone();
/// after.set(FieldId::ContextLength, Value::Integer(16_384));
/// let changes = difference(&before, &after, vllm).expect("words for it");
/// assert_eq!(changes[0].to_string(), "change --max-model-len 32768 → 16384");
/// ```
pub fn difference(
    before: &Scenario,
    after: &Scenario,
    format: Format,
) -> Option<Vec<SettingChange>> {
    let [old, new] = [write(before, format), write(after, format)];
    if new.missing.iter().any(|sentence| !old.missing.contains(sentence)) {
        return None;
    }
    let value = |items: &[Item], key: &str| {
        items.iter().find(|item| item.key == key).map(|item| item.value.clone().unwrap_or_default())
    };
    let keys = new
        .items
        .iter()
        .chain(old.items.iter().filter(|item| value(&new.items, &item.key).is_none()));
    let changes = keys.map(|item| SettingChange {
        key: shown(&item.key, [&new.text, &old.text]),
        before: value(&old.items, &item.key),
        after: value(&new.items, &item.key),
    });
    let changes: Vec<SettingChange> =
        changes.filter(|change| change.before != change.after).collect();
    (!changes.is_empty()).then_some(changes)
}

/// A setting's name as the texts write it: with the dashes of a command line, or bare in a file.
fn shown(key: &str, texts: [&String; 2]) -> String {
    let flag = if key.len() == 1 { format!("-{key}") } else { format!("--{key}") };
    let is_flag = texts
        .iter()
        .any(|text| text.contains(&format!("{flag} ")) || text.contains(&format!("{flag}\n")));
    if is_flag { flag } else { key.to_owned() }
}
