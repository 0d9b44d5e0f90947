//! The model of a scenario: a row of the catalog or a kind of file to start from, and the keys of its `config.json` that differ.
//!
//! A family's reader says which keys there are and what counts where one is not stated. A shape that no family reads, and every shape
//! of a link of version 1, is written as sizes by hand: each input is then one value of [`ModelConfig`], and none follows from another.

use std::sync::{Arc, OnceLock};

use super::{FieldDefault, FieldId, FieldKind, Scenario, Value, field, fields, keys, parse};
use crate::config::{LayerSet, ModelConfig};
use crate::import::{self, Asked, ImportError, List};

/// Where the values of a model come from that nobody set.
#[derive(Debug)]
enum Source {
    /// Keys of a file of that kind.
    Keys { model_type: String, stated: Vec<(FieldId, Value)> },
    /// The values of the row's shape, one by one.
    Sizes,
}

/// The model of a scenario as it is now: made when somebody asks, and kept until the model changes.
#[derive(Debug)]
pub(super) struct ModelNow {
    source: Source,
    keys: OnceLock<KeysNow>,
}

/// What a family's reader makes of the keys of a scenario.
#[derive(Debug)]
pub(super) struct KeysNow {
    /// The inputs that the family reads, with the values that count.
    asked: Vec<(FieldId, Value)>,
    /// The architecture, or why there is none.
    pub(super) config: Result<ModelConfig, ImportError>,
}

impl KeysNow {
    pub(super) fn value(&self, id: FieldId) -> Option<&Value> {
        self.asked.iter().find(|(asked, _)| *asked == id).map(|(_, value)| value)
    }
}

impl Scenario {
    /// Whether that input is asked of the present model: its family reads the key, or every size is said by hand. Inputs that are not
    /// about the architecture always are.
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Scenario};
    /// let mut scenario = Scenario::default();
    /// scenario.set_model("mixtral-8x7b");
    /// assert!(scenario.asks(FieldId::NumExperts) && !scenario.asks(FieldId::KvLoraRank));
    /// ```
    pub fn asks(&self, id: FieldId) -> bool {
        match field(id).default {
            FieldDefault::OfModel(_) | FieldDefault::OfFile if !self.reads_keys() => {
                matches!(field(id).default, FieldDefault::OfModel(_))
            }
            FieldDefault::OfModel(_) | FieldDefault::OfFile => self.keys_now().value(id).is_some() || self.is_set(id),
            _ if id == FieldId::Sizes => self.reads_keys() || !self.is_pasted(),
            _ => true,
        }
    }

    /// Whether the architecture is read from keys of a file, rather than from sizes by hand.
    pub fn reads_keys(&self) -> bool {
        matches!(self.model_now().source, Source::Keys { .. })
    }

    fn model_now(&self) -> &ModelNow {
        self.now.get_or_init(|| Arc::new(ModelNow { source: self.source(), keys: OnceLock::new() }))
    }

    /// Something that the model is made of has changed.
    pub(super) fn forget_model(&mut self, changed: FieldId) {
        let starts = matches!(changed, FieldId::Model | FieldId::ModelType | FieldId::TextModelType | FieldId::Sizes);
        if starts || field(changed).default.is_of_model() {
            self.now.take();
        }
    }

    fn source(&self) -> Source {
        let row = self.model();
        if self.flag_set(FieldId::Sizes) {
            return Source::Sizes;
        }
        let [of_text, of_file] = [FieldId::TextModelType, FieldId::ModelType].map(|id| self.text(id));
        let model_type = if of_text.is_empty() { of_file } else { of_text };
        if !model_type.is_empty() {
            return if import::is_listed(&model_type) { Source::Keys { model_type, stated: Vec::new() } } else { Source::Sizes };
        }
        let Some((model_type, stated)) = row.and_then(|row| row.file.split_once(' ')) else { return Source::Sizes };
        Source::Keys { model_type: model_type.to_owned(), stated: stated.split(' ').filter_map(stated_key).collect() }
    }

    /// The value of an input of the architecture that nobody set.
    pub(super) fn of_model(&self, id: FieldId) -> Value {
        let of_shape = |config: &ModelConfig| field(id).of_model(config).unwrap_or(Value::Empty);
        if !self.reads_keys() {
            return self.model().map_or(Value::Empty, |row| of_shape(&row.config));
        }
        let now = self.keys_now();
        match (now.value(id), &now.config) {
            (Some(value), _) => value.clone(),
            (None, Ok(config)) => of_shape(config),
            (None, Err(_)) => self.model().map_or(Value::Empty, |row| of_shape(&row.config)),
        }
    }

    /// The value that an input of the architecture has once it is cleared, whatever else was set.
    pub(super) fn of_model_without(&self, id: FieldId) -> Value {
        if !self.set.contains_key(&id) || !self.reads_keys() || self.is_unread(id) {
            return self.of_model(id);
        }
        let mut without = self.clone();
        without.set.remove(&id);
        without.now.take();
        without.of_model(id)
    }

    /// The keys as the family reads them; read once until one changes.
    pub(super) fn keys_now(&self) -> &KeysNow {
        let now = self.model_now();
        now.keys.get_or_init(|| self.read_keys(&now.source))
    }

    fn read_keys(&self, source: &Source) -> KeysNow {
        let Source::Keys { model_type, stated } = source else {
            return KeysNow { asked: Vec::new(), config: Ok(self.config_of_sizes()) };
        };
        let mut stated = stated.clone();
        for (id, value) in self.set.iter().filter(|(id, _)| field(**id).default.is_of_model()) {
            stated.retain(|(known, _)| known != id);
            stated.push((*id, value.clone()));
        }
        let layers = stated.iter().find(|(id, _)| *id == FieldId::NumHiddenLayers).map(|(_, value)| value);
        let layers = match layers {
            Some(Value::Integer(count)) => *count,
            _ => import::default_layers(model_type),
        };
        let layers = usize::try_from(layers).unwrap_or(usize::MAX).min(10_000);
        let mut file = import::Object::new();
        for (id, value) in &stated {
            file.insert(field(*id).name.to_owned(), to_json(*id, value, layers));
        }
        let read = import::config_of_keys(model_type, &file);
        KeysNow { asked: read.asked.iter().filter_map(asked_value).collect(), config: read.config }
    }

    /// Takes over a file by its keys. Returns whether they say all of it; where they do not, nothing is set.
    pub(super) fn set_keys(&mut self, imported: &import::Imported) -> bool {
        let mut with = self.clone();
        for asked in imported.asked.iter().filter(|asked| asked.stated) {
            let Some((id, value)) = asked_value(asked) else { return false };
            with.set.insert(id, value);
        }
        with.now.take();
        with.drop_what_is_default();
        let same = with.reads_keys() && with.keys_now().config.as_ref() == Ok(&imported.config);
        if same {
            *self = with;
        }
        same
    }

    /// Keys that were set.
    pub(super) fn set_of_model(&self) -> impl Iterator<Item = FieldId> + '_ {
        self.set.keys().copied().filter(|id| field(*id).default.is_of_model())
    }

    /// Whether the model's family does not look at that key. Nobody knows while the keys give no architecture.
    fn is_unread(&self, id: FieldId) -> bool {
        let now = self.keys_now();
        now.config.is_ok() && now.value(id).is_none()
    }

    /// Keys that were set and that the model's family, with its other keys as they are, does not look at.
    pub fn keys_without_effect(&self) -> Vec<FieldId> {
        if self.reads_keys() { self.set_of_model().filter(|id| self.is_unread(*id)).collect() } else { Vec::new() }
    }

    /// Sets a key as it was stated, before all others are: nobody knows yet what would count without it.
    pub(super) fn state_key(&mut self, id: FieldId, value: Value) {
        self.set.insert(id, value);
        self.forget_model(id);
    }

    /// What was set of the architecture and counts without being set is set no more.
    pub(super) fn drop_what_is_default(&mut self) {
        if !self.reads_keys() {
            return;
        }
        for id in self.set_of_model().collect::<Vec<_>>() {
            let without = self.of_model_without(id);
            if self.set.get(&id).is_some_and(|value| super::is_shown_alike(id, value, &without)) {
                self.set.remove(&id);
                self.now.take();
            }
        }
    }

    /// Writes the present architecture as sizes by hand, or goes back to the keys of the model that it starts from.
    pub(super) fn say_sizes(&mut self, by_hand: bool) {
        let config = self.model_config();
        self.set.retain(|id, _| !field(*id).default.is_of_model());
        self.put(FieldId::Sizes, Value::Flag(by_hand));
        if by_hand {
            self.set_sizes(&config);
        }
    }

    /// Sets every value of a shape.
    pub(super) fn set_sizes(&mut self, config: &ModelConfig) {
        for field in fields() {
            if let Some(value) = field.of_model(config) {
                self.set(field.id, value);
            }
        }
    }
}

/// One key of a row's file: `hidden_size=4096`.
fn stated_key(part: &str) -> Option<(FieldId, Value)> {
    let (name, text) = part.split_once('=')?;
    let id = key_of_name(name)?;
    Some((id, parse(id, &text.replace('_', "-")).ok()?))
}

/// The input for that key of a file.
fn key_of_name(name: &str) -> Option<FieldId> {
    fields().iter().find(|field| field.name == name && field.default.is_of_model()).map(|field| field.id)
}

/// The input for a key that a reader looked at, with its value; `None` where no input can hold it.
fn asked_value(asked: &Asked) -> Option<(FieldId, Value)> {
    let id = key_of_name(asked.key)?;
    Some((id, from_json(id, &asked.value)?))
}

fn to_json(id: FieldId, value: &Value, layers: usize) -> import::Value {
    use import::Value as Json;
    let whole = |at: usize| Json::Whole(u64::try_from(at).unwrap_or(u64::MAX));
    match value {
        Value::Integer(number) => Json::Whole(*number),
        Value::Decimal(number) => {
            let text = number.to_string();
            text.parse().map_or(Json::OtherNumber(text), Json::Whole)
        }
        Value::Choice(word) => Json::Text(word.replace('-', "_")),
        Value::Flag(yes) => Json::Bool(*yes),
        Value::Text(text) => match field(id).kind {
            FieldKind::Words { .. } => Json::List(import::read_words(text, layers).into_iter().map(Json::Text).collect()),
            _ => Json::Text(text.clone()),
        },
        Value::Layers(set) => {
            let has = |at: &usize| set.contains(u64::try_from(*at).unwrap_or(u64::MAX));
            let yes_or_no = |at: usize| Json::Whole(u64::from(has(&at)));
            if import::YES_OR_NO.contains(&field(id).name) {
                Json::List((0..layers).map(yes_or_no).collect())
            } else {
                Json::List((0..layers).filter(has).map(whole).collect())
            }
        }
        Value::Empty if import::NONE_BY_0.contains(&field(id).name) => Json::Whole(0),
        Value::Empty => Json::Null,
    }
}

fn from_json(id: FieldId, value: &import::Value) -> Option<Value> {
    use import::Value as Json;
    Some(match (field(id).kind, value) {
        (FieldKind::Integer { optional: true, .. } | FieldKind::Decimal { optional: true, .. }, Json::Null) => Value::Empty,
        // Counted from the end: as far as there are layers.
        (FieldKind::Integer { optional: true, .. }, Json::OtherNumber(last)) if last == "-1" => Value::Empty,
        (FieldKind::Integer { optional: true, .. }, Json::Whole(0)) if import::NONE_BY_0.contains(&field(id).name) => Value::Empty,
        (FieldKind::Integer { .. }, Json::Whole(number)) => Value::Integer(*number),
        (FieldKind::Decimal { .. }, Json::Whole(number)) => Value::Decimal(crate::units::to_f64(*number)),
        (FieldKind::Decimal { .. }, Json::OtherNumber(text)) => Value::Decimal(text.parse().ok()?),
        (FieldKind::Flag, Json::Bool(yes)) => Value::Flag(*yes),
        (FieldKind::Choice(options), Json::Text(word)) => {
            let word = word.replace('_', "-");
            Value::Choice(options.iter().find(|option| option.value == word)?.value)
        }
        (FieldKind::Text { .. }, Json::Text(text)) => Value::Text(text.clone()),
        (FieldKind::Words { max_len }, Json::List(items)) => {
            let Some(List::Words(words)) = import::list(items) else { return None };
            let text = keys::words(&import::write_words(&words));
            (text.len() <= max_len).then_some(Value::Text(text))?
        }
        (FieldKind::Layers, Json::List(items)) => {
            let Some(List::Numbers(numbers)) = import::list(items) else { return None };
            layers_of(&numbers, import::YES_OR_NO.contains(&field(id).name))?
        }
        _ => return None,
    })
}

/// The layers that a list of numbers means: its members, or the places of those that are not 0.
fn layers_of(numbers: &[u64], yes_or_no: bool) -> Option<Value> {
    let place = |number: u64| usize::try_from(number).ok().filter(|place| *place < 1024);
    let places: Option<Vec<usize>> = if yes_or_no {
        Some((0..numbers.len()).filter(|at| numbers.get(*at).is_some_and(|number| *number != 0)).collect())
    } else {
        numbers.iter().map(|number| place(*number)).collect()
    };
    let places = places?;
    let Some(last) = places.iter().max() else { return Some(Value::Layers(LayerSet::None)) };
    let flags: Vec<bool> = (0..=*last).map(|at| places.contains(&at)).collect();
    Some(Value::Layers(LayerSet::Listed(flags.into())))
}

#[cfg(test)]
mod tests {
    use super::{asked_value, key_of_name};
    use crate::catalog;
    use crate::import::{Object, config_json, config_of_keys};
    use crate::models;
    use crate::scenario::{FieldId, Scenario, Value, codec};

    /// The form shows the keys that a family reads: each needs an entry in the table of inputs.
    #[test]
    fn every_key_that_a_family_reads_is_an_input() {
        for model_type in models::names() {
            for asked in config_of_keys(model_type, &Object::new()).asked {
                assert!(key_of_name(asked.key).is_some(), "{model_type} reads {}", asked.key);
                assert!(asked_value(&asked).is_some(), "{model_type}: {asked:?}");
            }
        }
    }

    #[test]
    fn the_keys_of_a_row_say_all_of_its_shape() {
        let mut by_hand = Vec::new();
        for row in catalog::models() {
            let mut scenario = Scenario::default();
            scenario.set_model(row.id);
            if row.file.is_empty() {
                by_hand.push(row.id);
                continue;
            }
            assert_eq!(scenario.keys_now().config.as_ref(), Ok(&row.config), "{}", row.file);
            assert!(scenario.asks(FieldId::HiddenSize), "{}", row.id);
        }
        // Their shapes are written in their rows, or nested deeper than keys go.
        assert!(by_hand.len() * 5 < catalog::models().len(), "{by_hand:?}");
    }

    #[test]
    fn what_is_not_stated_follows_and_what_is_stated_stays() {
        let mut scenario = Scenario::default();
        scenario.set_model("gpt2");
        scenario.set(FieldId::HiddenSize, Value::Integer(1536));
        assert_eq!(scenario.get(FieldId::IntermediateSize), Value::Integer(4 * 1536));
        assert_eq!(scenario.model_config().head_dim, 128);
        scenario.set(FieldId::IntermediateSize, Value::Integer(5000));
        scenario.set(FieldId::HiddenSize, Value::Integer(768));
        assert!(scenario.is_set(FieldId::IntermediateSize) && !scenario.is_set(FieldId::HiddenSize));
        let link = codec::encode(&scenario);
        assert!(link.ends_with("&m=gpt2&intermediate-size=5000"), "{link}");
        assert_eq!(codec::decode(&link).scenario, scenario);
    }

    #[test]
    fn keys_that_cannot_go_together_are_a_sentence_with_a_way_out() {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::HiddenSize, Value::Integer(4100));
        scenario.set(FieldId::HeadDim, Value::Empty);
        scenario.set_model("gpt2");
        scenario.set(FieldId::HiddenSize, Value::Integer(4100));
        let errors = scenario.resolve().expect_err("heads do not divide it");
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].message, "\"hidden_size\" (4100) must be a multiple of \"num_attention_heads\" (12).");
        assert_eq!(errors[0].way_out, Some(("Use 768".to_owned(), Value::Integer(768))));
    }

    #[test]
    fn sizes_by_hand_begin_with_the_present_shape_and_keys_come_back() {
        let mut scenario = Scenario::default();
        scenario.set_model("mixtral-8x7b");
        scenario.set(FieldId::NumExperts, Value::Integer(16));
        let before = scenario.model_config();
        scenario.change(FieldId::Sizes, Value::Flag(true));
        assert!(!scenario.reads_keys() && scenario.asks(FieldId::NormsPerBlock));
        assert_eq!(scenario.model_config(), before);
        scenario.change(FieldId::Sizes, Value::Flag(false));
        assert!(scenario.reads_keys() && !scenario.is_custom_model());
    }

    #[test]
    fn a_key_that_the_family_does_not_read_is_told() {
        let mut scenario = codec::decode("v2&m=llama3-8b&kv-lora-rank=512").scenario;
        let told = scenario.remarks(|| None);
        assert_eq!(told[0].text, "Without effect, as this model's family does not look at it: `kv_lora_rank`.");
        scenario.clear(FieldId::KvLoraRank);
        assert!(scenario.remarks(|| None).is_empty());
    }

    /// A file of several parts keeps the kind of the whole for its name, and the kind whose keys are read beside it.
    #[test]
    fn a_part_for_text_is_read_by_its_own_kind() {
        let text =
            r#"{ "model_type": "llava", "text_config": { "model_type": "llama", "num_hidden_layers": 4 }, "vision_config": {} }"#;
        let imported = config_json(text).expect("a known kind");
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        assert!(scenario.reads_keys());
        assert_eq!(scenario.model_config(), imported.config);
        assert_eq!(codec::decode(&codec::encode(&scenario)).scenario, scenario);
    }
}
