//! Takes values out of a file by key and keeps the report.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::sizes::{MAX_SIZE, whole};
use super::value::{Object, Value};
use super::{How, ImportError, ReportRow};
use crate::models::{FURTHER, FamilySpec, VISION};

/// A key that the kind's reader looked at, with the value that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The key; where files have several names for it, the library's own.
    pub key: &'static str,
    /// The file's value, or the one that the library takes or derives; null where there is none.
    pub value: Value,
    /// True if the file states the value.
    pub stated: bool,
}

/// Ignored keys listed one by one; the rest are counted.
const MAX_IGNORED: usize = 60;

/// A file, the keys used so far and the report so far.
pub(super) struct Reader<'a> {
    base: &'a Object,
    /// The whole file, where `base` is only its text part.
    outer: Option<&'a Object>,
    used: BTreeSet<&'a str>,
    report: Vec<ReportRow>,
    upper_bounds: Vec<String>,
    disagreeing: BTreeSet<&'a str>,
    asked: Vec<Asked>,
    /// True if a file may state no size at all, because all its sizes are the library's.
    may_be_empty: bool,
}

impl<'a> Reader<'a> {
    /// Reads from `base`; `outer` is the file around it, if there is one.
    pub(super) fn new(base: &'a Object, outer: Option<&'a Object>) -> Self {
        Self {
            base,
            outer,
            used: BTreeSet::new(),
            report: Vec::new(),
            upper_bounds: Vec::new(),
            disagreeing: BTreeSet::new(),
            asked: Vec::new(),
            may_be_empty: false,
        }
    }

    /// Reads keys that were taken out of a file, which may all be the library's defaults.
    pub(super) fn of_keys(keys: &'a Object) -> Self {
        Self { may_be_empty: true, ..Self::new(keys, None) }
    }

    /// Notes which value of a key counts; the last word on a key is the one that stays.
    pub(super) fn asks(&mut self, key: &'static str, value: Value, stated: bool) {
        self.asked.retain(|asked| asked.key != key);
        self.asked.push(Asked { key, value, stated });
    }

    /// The keys that were looked at.
    pub(super) fn into_asked(self) -> Vec<Asked> {
        self.asked
    }

    /// The keys that were looked at so far.
    pub(super) fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// The first of these keys that is there and not null.
    fn find(&mut self, keys: &[&str]) -> Option<(&'a str, &'a Value)> {
        let base = self.base;
        let found = keys
            .iter()
            .find_map(|key| base.get_key_value(*key).filter(|(_, value)| **value != Value::Null));
        for key in keys {
            if let Some((key, _)) = base.get_key_value(*key) {
                self.used.insert(key);
            }
        }
        found.map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key of any type, without a report line.
    pub(super) fn peek(&self, key: &str) -> Option<&'a Value> {
        self.base.get(key).filter(|value| **value != Value::Null)
    }

    /// All keys of the file.
    pub(super) const fn keys(&self) -> &'a Object {
        self.base
    }

    /// True if the file has the key, null or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.base.contains_key(key)
    }

    /// True if this is one part of a larger file that names its own kind, and the larger file
    /// states no sizes for it; true for keys of such a file as well.
    pub(super) fn is_a_part_with_a_kind(&self) -> bool {
        let around = |key: &str| self.outer.is_some_and(|outer| outer.contains_key(key));
        self.may_be_empty
            || self.outer.is_some()
                && self.base.contains_key("model_type")
                && !around("hidden_size")
                && !around("num_hidden_layers")
    }

    /// True if the file around a text part was saved from a class of another task: one that
    /// classifies, or the whole kind's own model without a head, and none of the kind's.
    pub(super) fn is_saved_without_text(&self, family: &FamilySpec) -> bool {
        let class = self.outer.and_then(|outer| super::value::class_of(outer.get("architectures")));
        let kind = self.outer.and_then(|outer| outer.get("model_type"));
        let (Some(class), Some(Value::Text(kind))) = (class, kind) else { return false };
        let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        let is_bare = class
            .strip_suffix("Model")
            .is_some_and(|stem| !stem.ends_with("Chat") && plain(stem) == plain(kind));
        let classifies = ["SequenceClassification", "TokenClassification"]
            .iter()
            .any(|task| class.ends_with(task));
        (is_bare || classifies) && !family.saved_with.contains(&class)
    }

    /// Adds a line to the report.
    pub(super) fn tell(
        &mut self,
        key: &str,
        value: &dyn Display,
        how: How,
        note: impl Into<String>,
    ) {
        self.report.push(ReportRow {
            key: key.to_owned(),
            value: value.to_string(),
            how,
            note: note.into(),
        });
    }

    /// Adds a line about a part that is not modelled and counted as one that needs at least as
    /// much.
    pub(super) fn upper_bound(&mut self, key: &str, value: &dyn Display, note: &str) {
        self.tell(key, value, How::Assumed, format!("Upper bound. {note}"));
        self.upper_bounds.push(note.to_owned());
    }

    /// A size under its own key or one of its other names; `None` where the file has none.
    pub(super) fn optional(
        &mut self,
        keys: &[&'static str],
        max: u64,
    ) -> Result<Option<u64>, ImportError> {
        let name = keys.first().copied().unwrap_or_default();
        let Some((key, value)) = self.find(keys) else {
            if keys.iter().any(|key| self.has(key)) {
                self.asks(name, Value::Null, true);
            }
            return Ok(None);
        };
        let size = whole(key, value, max)?;
        self.compare(keys, size);
        self.asks(name, Value::Whole(size), true);
        let note = if name == key { String::new() } else { format!("The file calls it {key}.") };
        self.tell(name, &size, How::Read, note);
        Ok(Some(size))
    }

    /// Other names of a size that the file gives another value.
    fn compare(&mut self, keys: &[&'static str], size: u64) {
        // The longest text may well be stated twice, and says nothing of a shape.
        if keys.contains(&"max_position_embeddings") {
            return;
        }
        let stated = keys.iter().filter_map(|key| self.base.get_key_value(*key));
        let others =
            stated.filter(|(_, value)| matches!(value, Value::Whole(other) if *other != size));
        self.disagreeing.extend(others.map(|(key, _)| key.as_str()));
    }

    /// Notes that the key contradicts another one, which is counted.
    pub(super) fn disagrees(&mut self, key: &str) {
        self.disagreeing.extend(self.base.get_key_value(key).map(|(key, _)| key.as_str()));
    }

    /// Second names of sizes, with a value that is not the one counted.
    pub(super) fn disagreeing(&self) -> impl Iterator<Item = &'a str> {
        self.disagreeing.iter().copied()
    }

    /// A size with a default of the library; 0 means that there is none and the file must state it.
    pub(super) fn size_or(
        &mut self,
        keys: &[&'static str],
        max: u64,
        default: u64,
    ) -> Result<u64, ImportError> {
        let name = keys.first().copied().unwrap_or_default();
        if let Some(size) = self.optional(keys, max)? {
            return Ok(size);
        }
        if default == 0 {
            return Err(ImportError::Missing { key: name });
        }
        self.takes_default(name, default);
        Ok(default)
    }

    /// The file does not state a size: the library's default counts.
    pub(super) fn takes_default(&mut self, name: &'static str, default: u64) {
        self.asks(name, Value::Whole(default), false);
        self.tell(name, &default, How::Assumed, "The library's default.");
    }

    /// A size that follows from others where the file does not state it.
    pub(super) fn size_or_derived(
        &mut self,
        keys: &[&'static str],
        derived: u64,
        note: &'static str,
    ) -> Result<u64, ImportError> {
        if let Some(size) = self.optional(keys, MAX_SIZE)? {
            return Ok(size);
        }
        let name = keys.first().copied().unwrap_or_default();
        self.asks(name, Value::Whole(derived), false);
        self.tell(name, &derived, How::Derived, note);
        Ok(derived)
    }

    /// A yes or no with a default of the library.
    pub(super) fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, ImportError> {
        self.flag_as(key, key, default)
    }

    /// A yes or no that the file calls `key` and the report `name`.
    pub(super) fn flag_as(
        &mut self,
        key: &'static str,
        name: &str,
        default: bool,
    ) -> Result<bool, ImportError> {
        match self.find(&[key]) {
            Some((_, Value::Bool(yes))) => {
                let note =
                    if name == key { String::new() } else { format!("The file calls it {key}.") };
                self.tell(name, yes, How::Read, note);
                self.asks(key, Value::Bool(*yes), true);
                Ok(*yes)
            }
            Some((key, other)) => Err(ImportError::wrong_type(key, "true or false", other)),
            None => {
                self.tell(name, &default, How::Assumed, "The library's default.");
                self.asks(key, Value::Bool(default), false);
                Ok(default)
            }
        }
    }

    /// A yes or no that is worth a report line only where the file states it.
    pub(super) fn rare_flag(
        &mut self,
        key: &'static str,
        default: bool,
    ) -> Result<bool, ImportError> {
        if self.peek(key).is_none() {
            self.without_effect(&[key]);
            self.asks(key, Value::Bool(default), false);
            return Ok(default);
        }
        self.flag(key, default)
    }

    /// True if the head reuses the embedding. For a text part of a file the library asks the file
    /// around it, where that states the key.
    pub(super) fn tied(&mut self, default: bool) -> Result<bool, ImportError> {
        const KEY: &str = "tie_word_embeddings";
        if let Some(Value::Bool(yes)) = self.outer.and_then(|outer| outer.get(KEY)) {
            self.without_effect(&[KEY]);
            self.tell(KEY, yes, How::Read, "Stated outside text_config.");
            self.asks(KEY, Value::Bool(*yes), true);
            return Ok(*yes);
        }
        self.flag(KEY, default)
    }

    /// True if the head reuses the embedding by the file around a text part, or by the library's
    /// default of that.
    pub(super) fn tied_by_whole(&mut self, default: bool) -> bool {
        const KEY: &str = "tie_word_embeddings";
        let around = match self.outer {
            Some(outer) => outer.get(KEY),
            // Links and inputs have keys alone: theirs says what the file around it said.
            None => self.peek(KEY),
        };
        let (yes, note) = match around {
            Some(Value::Bool(yes)) => (*yes, "Stated outside text_config."),
            _ => (default, "The library's default of the whole file."),
        };
        self.without_effect(&[KEY]);
        self.tell(KEY, &yes, How::Read, note);
        self.asks(KEY, Value::Bool(yes), true);
        yes
    }

    /// True if the file around a text part leaves the head untied and the part does not: the
    /// modules inside still share their embedding.
    pub(super) fn ties_inside(&self) -> bool {
        const KEY: &str = "tie_word_embeddings";
        let around = self.outer.and_then(|outer| outer.get(KEY));
        around == Some(&Value::Bool(false)) && self.peek(KEY) != Some(&Value::Bool(false))
    }

    /// True if the text part leaves its own embeddings untied, and the file around it its head tied
    /// to one of them.
    pub(super) fn unties_inside(&self) -> bool {
        const KEY: &str = "tie_word_embeddings";
        let no = Some(&Value::Bool(false));
        let around = self.outer.map(|outer| outer.get(KEY));
        around.is_some_and(|around| around != no) && self.peek(KEY) == no
    }

    /// The keys under `quantization_config`, of the text part or of the file around it.
    pub(super) fn quantization_config(&mut self) -> Option<&'a Object> {
        const KEY: &str = "quantization_config";
        let around = self.outer.and_then(|outer| outer.get(KEY));
        let found = self.find(&[KEY]).map(|(_, value)| value).or(around);
        let Some(Value::Object(keys)) = found else { return None };
        self.used.insert(KEY);
        Some(keys)
    }

    /// A fact that the kind of model implies.
    pub(super) fn implied(&mut self, key: &str, value: &dyn Display, note: &'static str) {
        self.tell(key, value, How::Derived, note);
    }

    /// The keys that nothing has looked at, with their values.
    pub(super) fn unused(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.base
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .filter(|(key, _)| !self.used.contains(key))
    }

    /// The groups of keys that describe the tower and its projector.
    pub(super) fn groups_of_tower(&self) -> Vec<&'static str> {
        super::tower::groups(self.base)
    }

    /// Turns report lines of these keys into ignored ones: they are about a part that the model
    /// turns out not to have.
    pub(super) fn take_back(&mut self, keys: &[&str], note: &str) {
        self.report.retain(|row| row.how == How::Read || !keys.contains(&row.key.as_str()));
        for row in self.report.iter_mut().filter(|row| keys.contains(&row.key.as_str())) {
            (row.how, row.note) = (How::Ignored, note.to_owned());
        }
    }

    /// Marks keys as looked at: those that the file has count with their values.
    pub(super) fn done_with(&mut self, keys: &[&'static str]) {
        let _ = self.find(keys);
        for key in keys {
            if let Some(value) = self.base.get(*key).filter(|value| **value != Value::Null) {
                self.asks(key, value.clone(), true);
            }
        }
    }

    /// Marks keys as dealt with although they say nothing that counts, so that they are not listed
    /// as ignored.
    pub(super) fn without_effect(&mut self, keys: &[&str]) {
        let _ = self.find(keys);
    }

    /// The report, with everything that was not used at its end, and the sentences of
    /// [`Self::upper_bound`].
    pub(super) fn into_report(mut self) -> (Vec<ReportRow>, Vec<String>) {
        let groups = self.groups_of_tower();
        if let Some(outer) = self.outer {
            let parts =
                outer.iter().filter(|(key, _)| key.ends_with("_config") && *key != "text_config");
            let counted = |key: &str| groups.contains(&key);
            let unused: Vec<_> = parts
                .filter(|(key, _)| !self.used.contains(key.as_str()) && !counted(key))
                .collect();
            for (key, value) in unused {
                let note =
                    if key.contains("quant") { "" } else { "Only the text part is counted." };
                self.tell(key, &value.brief(), How::Ignored, note);
            }
        }
        let begins = |key: &str| [VISION, FURTHER].iter().any(|prefix| key.starts_with(prefix));
        let of_tower = |key: &str| !groups.is_empty() && (begins(key) || groups.contains(&key));
        let unused: Vec<_> = self
            .base
            .iter()
            .filter(|(key, _)| !self.used.contains(key.as_str()) && !of_tower(key))
            .collect();
        for (key, value) in unused.iter().take(MAX_IGNORED) {
            self.tell(&super::value::shortened(key), &value.brief(), How::Ignored, note_on(key));
        }
        if unused.len() > MAX_IGNORED {
            self.tell("…", &format!("{} more keys", unused.len() - MAX_IGNORED), How::Ignored, "");
        }
        (self.report, self.upper_bounds)
    }
}

/// A note on the meaning of an ignored key.
fn note_on(key: &str) -> &'static str {
    match key {
        "torch_dtype" | "dtype" => "The number format is chosen under Run.",
        "rope_scaling"
        | "rope_theta"
        | "rope_parameters"
        | "partial_rotary_factor"
        | "rotary_pct" => "Rotary positions have no parameters.",
        "use_cache" => "Serving always counts the key/value cache.",
        "num_nextn_predict_layers" => "Layers that predict further tokens are not counted.",
        "dropout"
        | "dropout_rate"
        | "hidden_dropout"
        | "hidden_dropout_prob"
        | "resid_pdrop"
        | "embd_pdrop"
        | "attn_pdrop"
        | "attention_dropout"
        | "attention_probs_dropout_prob"
        | "activation_dropout" => {
            "Masks that training would keep for it are not counted for this kind."
        }
        "model_type" | "architectures" => "Used to find the kind of model.",
        _ => "",
    }
}
