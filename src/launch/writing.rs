//! Writes a scenario as a command or file.

use super::flag::Effect;
use super::reading::Reading;
use super::{Format, model_names};
use crate::scenario::{FieldId, FieldKind, Mode, Scenario, Value, field, show};

/// One setting that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The name of the flag or key.
    pub key: String,
    /// The value in the tool's words; `None` for a flag without a value.
    pub value: Option<String>,
}

/// A command or file, and the inputs that it could not express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text, with comments about inputs that the tool has no word for.
    pub text: String,
    /// The settings in it, by which two texts are compared.
    pub items: Vec<Item>,
    /// Inputs that the tool has no word for, each a sentence.
    pub missing: Vec<String>,
}

/// A scenario that is being written in a format.
#[derive(Debug)]
pub struct Writing<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The tool's own defaults, for the scenario's model and accelerator.
    pub defaults: Scenario,
    /// Settings so far.
    pub items: Vec<Item>,
    format: Format,
    said: Vec<FieldId>,
    missing: Vec<String>,
}

impl<'a> Writing<'a> {
    pub(super) fn of(scenario: &'a Scenario, format: Format) -> Self {
        let defaults = Reading::of_nothing(format, scenario);
        Self { scenario, defaults, items: Vec::new(), format, said: Vec::new(), missing: Vec::new() }
    }

    /// Finishes the command or file. For a format that is only read, `missing` says so.
    pub(super) fn finish(mut self) -> Written {
        let Some(write) = self.format.write else {
            let missing = vec![format!("{} is read, and not written.", self.format.label)];
            return Written { text: String::new(), items: Vec::new(), missing };
        };
        let text = write(&mut self);
        self.name_missing();
        let mut comments = String::new();
        for sentence in &self.missing {
            comments.extend(["# ", sentence, "\n"]);
        }
        Written { text: comments + &text, items: self.items, missing: self.missing }
    }

    /// The model's name in commands. A model that the catalog does not have is added to `missing`.
    pub fn model(&mut self) -> String {
        self.said.extend([FieldId::Model, FieldId::ModelName]);
        let own = self.scenario.model().filter(|_| !self.scenario.is_custom_model());
        own.map_or_else(
            || {
                self.missing
                    .push("The model is none of the catalog's: put its folder or repository in the place of MODEL.".to_owned());
                "MODEL".to_owned()
            },
            |row| model_names::name_of(row).to_owned(),
        )
    }

    /// Adds a sentence about a part of the scenario that the tool has no word for.
    pub fn lacks(&mut self, sentence: &str) {
        self.missing.push(sentence.to_owned());
    }

    /// True if an input differs from the tool's own default.
    pub fn differs(&self, id: FieldId) -> bool {
        self.scenario.get(id) != self.defaults.get(id)
    }

    /// Adds a setting that expresses the inputs `fields`.
    pub fn say(&mut self, key: &str, value: Option<String>, fields: &[FieldId]) {
        self.said.extend(fields);
        self.items.push(Item { key: key.to_owned(), value });
    }

    /// Marks inputs as written, because another setting expresses them or none is needed.
    pub fn is_said(&mut self, fields: &[FieldId]) {
        self.said.extend(fields);
    }

    /// Adds every flag of the format's tables whose input differs from the tool's default, except
    /// flags that the format's code writes.
    pub fn table(&mut self) {
        for flag in self.format.flags.iter().copied().flatten() {
            let Some(key) = flag.names.first() else { continue };
            let (field, value) = match flag.effect {
                Effect::Sets(id) => (id, plain(id, &self.scenario.get(id)).map(Some)),
                Effect::Words(id, words) => {
                    let Value::Choice(own) = self.scenario.get(id) else { continue };
                    (id, words.iter().find(|(_, ours)| *ours == own).map(|(theirs, _)| Some((*theirs).to_owned())))
                }
                Effect::Switch(id) | Effect::SwitchOff(id) => {
                    let yes = matches!(flag.effect, Effect::Switch(_));
                    let is_on = self.scenario.get(id) == Value::Flag(yes);
                    (id, is_on.then_some(None))
                }
                Effect::By(_) | Effect::Together | Effect::NoEffect | Effect::NotModelled(..) => continue,
            };
            if self.said.contains(&field) || !self.differs(field) {
                continue;
            }
            if let Some(value) = value {
                self.say(key, value, &[field]);
            }
        }
    }

    /// Adds a sentence for each input that counts, differs from the tool's default, and was not
    /// written.
    fn name_missing(&mut self) {
        let silent = [FieldId::Mode, FieldId::FlagsNotCounted, FieldId::Model];
        let counting: Vec<FieldId> = self.scenario.counting_fields().map(|field| field.id).collect();
        for id in counting {
            let group = field(id).group;
            let is_asked =
                !matches!(group, crate::scenario::Group::Cost | crate::scenario::Group::Hardware | crate::scenario::Group::Model);
            let is_shape = field(id).default.is_of_model() || silent.contains(&id);
            if is_asked && !is_shape && !self.said.contains(&id) && self.differs(id) {
                let (label, value) = (field(id).label, show(id, &self.scenario.get(id)));
                self.missing.push(format!("{} has no word for “{label}: {value}”.", self.format.label));
            }
        }
    }

    /// True if the scenario is served, not trained.
    pub fn serves(&self) -> bool {
        self.scenario.mode() == Mode::Serve
    }

    /// The settings as flags of a command line: ` --key value`, one a line. A value with several
    /// lines becomes several words.
    pub fn as_flags(&self) -> String {
        let flag = |item: &Item| {
            let dashes = if item.key.len() == 1 { "-" } else { "--" };
            let value = item.value.as_ref().map_or_else(String::new, |value| {
                value.split('\n').fold(String::new(), |words, word| words + " " + &quoted(word))
            });
            format!(" \\\n    {dashes}{}{value}", item.key)
        };
        self.items.iter().map(flag).collect()
    }

    /// The settings as lines of YAML: `key: value`. The caller writes lists and groups of keys
    /// between brackets.
    pub fn as_yaml(&self) -> String {
        let line = |text: String, item: &Item| text + &item.key + ": " + item.value.as_deref().unwrap_or("true") + "\n";
        self.items.iter().fold(String::new(), line)
    }

    /// The settings grouped by the name before their first dot, in the order of first appearance;
    /// settings without a dot come first.
    pub fn sections(&self) -> Vec<(&str, Vec<(&str, &Item)>)> {
        let mut sections: Vec<(&str, Vec<(&str, &Item)>)> = vec![("", Vec::new())];
        for item in &self.items {
            let (section, key) = item.key.split_once('.').unwrap_or(("", &item.key));
            match sections.iter_mut().find(|(name, _)| *name == section) {
                Some((_, items)) => items.push((key, item)),
                None => sections.push((section, vec![(key, item)])),
            }
        }
        sections
    }

    /// The settings as YAML, with a section for each name before a dot.
    pub fn as_nested_yaml(&self) -> String {
        let mut text = String::new();
        for (section, items) in self.sections() {
            let blanks = if section.is_empty() { "" } else { "  " };
            if !section.is_empty() {
                text = text + section + ":\n";
            }
            for (key, item) in items {
                text = text + blanks + key + ": " + item.value.as_deref().unwrap_or("true") + "\n";
            }
        }
        text
    }

    /// The settings as TOML, with a table for each name before the last dot.
    pub fn as_toml(&self) -> String {
        let mut tables: Vec<(&str, String)> = vec![("", String::new())];
        for item in &self.items {
            let (table, key) = item.key.rsplit_once('.').unwrap_or(("", &item.key));
            let value = item.value.as_deref().unwrap_or("true");
            let is_plain = value.parse::<f64>().is_ok() || matches!(value, "true" | "false") || value.starts_with('[');
            let value = if is_plain { value.to_owned() } else { format!("{value:?}") };
            let at = tables.iter().position(|(name, _)| *name == table).unwrap_or_else(|| {
                tables.push((table, String::new()));
                tables.len() - 1
            });
            if let Some((_, lines)) = tables.get_mut(at) {
                lines.extend([key, " = ", &value, "\n"]);
            }
        }
        tables.iter().fold(String::new(), |text, (name, lines)| match *name {
            "" => text + lines,
            name => text + "[" + name + "]\n" + lines,
        })
    }
}

/// A shell word, in quotes where it needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | ':' | '=' | ',' | '+' | '@' | '%')
    };
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// A value in the form that tools read; `None` for a value that has none.
fn plain(id: FieldId, value: &Value) -> Option<String> {
    match value {
        Value::Integer(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_string()),
        Value::Choice(word) => Some((*word).to_owned()),
        Value::Flag(on) => Some(on.to_string()),
        Value::Text(text) if !matches!(field(id).kind, FieldKind::Model) => Some(text.clone()),
        Value::Text(_) | Value::Layers(_) | Value::Empty => None,
    }
}
