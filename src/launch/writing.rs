//! A scenario on its way into a command or file.

use super::flag::Effect;
use super::reading::Reading;
use super::{Format, model_names};
use crate::scenario::{FieldId, FieldKind, Mode, Scenario, Value, field, show};

/// One setting that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The name of the flag or key.
    pub key: String,
    /// The value as the tool writes it; nothing for a flag that stands for itself.
    pub value: Option<String>,
}

/// A command or file, and what it could not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text, with comments for what the tool has no word for.
    pub text: String,
    /// The settings in it, for telling two texts apart.
    pub items: Vec<Item>,
    /// Inputs that the tool has no word for, each a sentence.
    pub missing: Vec<String>,
}

/// A scenario on its way into a format.
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
        Self {
            scenario,
            defaults,
            items: Vec::new(),
            format,
            said: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// The command or file. A format that is read alone says so.
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

    /// Returns the name by which commands call the model. A model that is no row of the catalog is
    /// named as missing.
    pub fn model(&mut self) -> String {
        self.said.extend([FieldId::Model, FieldId::ModelName]);
        let own = self.scenario.model().filter(|_| !self.scenario.is_custom_model());
        own.map_or_else(
            || {
                self.missing.push(
                    "The model is none of the catalog's: put its folder or repository in the place \
                     of MODEL."
                        .to_owned(),
                );
                "MODEL".to_owned()
            },
            |row| model_names::name_of(row).to_owned(),
        )
    }

    /// Something of the scenario that the tool has no word for, as a sentence.
    pub fn lacks(&mut self, sentence: &str) {
        self.missing.push(sentence.to_owned());
    }

    /// Returns true if an input differs from the tool's own default.
    pub fn differs(&self, id: FieldId) -> bool {
        self.scenario.get(id) != self.defaults.get(id)
    }

    /// Adds a setting, which says these inputs.
    pub fn say(&mut self, key: &str, value: Option<String>, fields: &[FieldId]) {
        self.said.extend(fields);
        self.items.push(Item { key: key.to_owned(), value });
    }

    /// These inputs are said in other words, or need none.
    pub fn is_said(&mut self, fields: &[FieldId]) {
        self.said.extend(fields);
    }

    /// Adds every flag of the format's tables that an input differs in from the tool's default, but
    /// for those that code of the format writes.
    pub fn table(&mut self) {
        for flag in self.format.flags.iter().copied().flatten() {
            let Some(key) = flag.names.first() else { continue };
            let (field, value) = match flag.effect {
                Effect::Sets(id) => (id, plain(id, &self.scenario.get(id)).map(Some)),
                Effect::Words(id, words) => {
                    let Value::Choice(own) = self.scenario.get(id) else { continue };
                    (
                        id,
                        words
                            .iter()
                            .find(|(_, ours)| *ours == own)
                            .map(|(theirs, _)| Some((*theirs).to_owned())),
                    )
                }
                Effect::Switch(id) | Effect::SwitchOff(id) => {
                    let yes = matches!(flag.effect, Effect::Switch(_));
                    let is_on = self.scenario.get(id) == Value::Flag(yes);
                    (id, is_on.then_some(None))
                }
                Effect::By(_) | Effect::Together | Effect::NoEffect | Effect::NotModelled(..) => {
                    continue;
                }
            };
            if self.said.contains(&field) || !self.differs(field) {
                continue;
            }
            if let Some(value) = value {
                self.say(key, value, &[field]);
            }
        }
    }

    /// Inputs that count, differ from the tool's defaults, and were not said.
    fn name_missing(&mut self) {
        let silent = [FieldId::Mode, FieldId::FlagsNotCounted, FieldId::Model];
        let counting: Vec<FieldId> =
            self.scenario.counting_fields().map(|field| field.id).collect();
        for id in counting {
            let group = field(id).group;
            let is_asked = !matches!(
                group,
                crate::scenario::Group::Cost
                    | crate::scenario::Group::Hardware
                    | crate::scenario::Group::Model
            );
            let is_shape = field(id).default.is_of_model() || silent.contains(&id);
            if is_asked && !is_shape && !self.said.contains(&id) && self.differs(id) {
                let (label, value) = (field(id).label, show(id, &self.scenario.get(id)));
                self.missing
                    .push(format!("{} has no word for “{label}: {value}”.", self.format.label));
            }
        }
    }

    /// Returns true if the scenario is served, not trained.
    pub fn serves(&self) -> bool {
        self.scenario.mode() == Mode::Serve
    }

    /// Returns the settings as flags of a command line: ` --key value`, one a line. A value's words
    /// on lines of their own are words of their own.
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

    /// Returns the settings as lines of YAML: `key: value`. Lists and groups of keys are written
    /// between brackets by whoever says them.
    pub fn as_yaml(&self) -> String {
        let line = |text: String, item: &Item| {
            text + &item.key + ": " + item.value.as_deref().unwrap_or("true") + "\n"
        };
        self.items.iter().fold(String::new(), line)
    }

    /// Returns the settings by the name before their first dot, in the order in which the names
    /// come first; those without a dot come first of all.
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

    /// Returns the settings as YAML, with those that share a name before a dot inside it.
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

    /// Returns the settings as TOML, with those that share a name before their last dot under it.
    pub fn as_toml(&self) -> String {
        let mut tables: Vec<(&str, String)> = vec![("", String::new())];
        for item in &self.items {
            let (table, key) = item.key.rsplit_once('.').unwrap_or(("", &item.key));
            let value = item.value.as_deref().unwrap_or("true");
            let is_plain = value.parse::<f64>().is_ok()
                || matches!(value, "true" | "false")
                || value.starts_with('[');
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

/// A word of a shell, in quotes where it needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '_' | '-' | '.' | '/' | ':' | '=' | ',' | '+' | '@' | '%')
    };
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A value as a tool reads it; nothing for what has no words.
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
