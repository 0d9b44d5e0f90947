//! The model of a scenario: a row of the catalog or a kind of file to start from, and the keys of
//! its `config.json` that differ.
//!
//! A family's reader says which keys there are and what counts where one is not stated. A shape
//! that no family reads, and every shape of a link of version 1, is written as sizes by hand: each
//! input is then one value of [`ModelConfig`], and none follows from another.
//!
//! The page begins without the reader, which knows every family and every row's file: it comes as a
//! program of its own once a key is looked at. Until then rows have their shape, and keys that were
//! changed wait.

mod reader;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::{FieldDefault, FieldId, Group, Scenario, Value, field, fields};
use crate::catalog;
use crate::config::{ModelConfig, Stack};
use crate::import;
use crate::scenario::later;

/// Inputs that only a model with a vision tower is asked for.
const OF_IMAGES: [FieldId; 6] = [
    FieldId::ImagesPerSequence,
    FieldId::ImageWidth,
    FieldId::ImageHeight,
    FieldId::FrozenTower,
    FieldId::FewestPixels,
    FieldId::MostPixels,
];

/// Inputs about dropout that a family's own modules do: behind the embedding, behind both halves of
/// a block, and within attention.
pub(super) const OF_DROPOUT: [FieldId; 3] =
    [FieldId::EmbeddingDropout, FieldId::ResidualDropout, FieldId::ProbabilityDropout];

pub use reader::answer as read_keys;

/// The subject of questions that [`read_keys`] answers.
pub const ABOUT_KEYS: &str = "keys";

/// Where the values of a model come from that nobody set.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// The file of a row of the catalog.
    Row(&'static str),
    /// The library's defaults for a kind of file.
    Kind(String),
    /// The values of the row's shape, one by one.
    Sizes,
}

/// Inputs and their values.
type Values = BTreeMap<FieldId, Value>;

/// The model of a scenario as it is now: made when somebody asks, and kept until the model changes.
#[derive(Debug)]
pub(super) struct ModelNow {
    source: Source,
    keys: OnceLock<KeysNow>,
}

/// The keys of a scenario as its family reads them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeysNow {
    /// The inputs that the family reads, with the values that count.
    asked: Vec<(FieldId, Value)>,
    /// The architecture, or why there is none.
    pub(super) config: Result<ModelConfig, Unread>,
}

/// Why keys give no architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    /// A sentence.
    pub(super) message: String,
    /// The inputs that it is about, the likeliest first.
    pub(super) about: Vec<FieldId>,
    /// The reader has not come yet.
    waits: bool,
}

impl Unread {
    fn waiting() -> Self {
        let message = "Changed keys of the model are read by a part of this page that has not come \
            yet; it needs the network.";
        Self { message: message.to_owned(), about: Vec::new(), waits: true }
    }
}

impl KeysNow {
    pub(super) fn value(&self, id: FieldId) -> Option<&Value> {
        self.asked.iter().find(|(asked, _)| *asked == id).map(|(_, value)| value)
    }

    /// True if the reader that the keys need has not been loaded yet.
    fn wait(&self) -> bool {
        self.config.as_ref().is_err_and(|unread| unread.waits)
    }
}

impl Scenario {
    /// True if that input is asked of the present model: its family reads the key, or every size is
    /// stated by hand. Inputs that are not about the architecture are always asked.
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
            FieldDefault::OfModel(_) | FieldDefault::OfFile if self.keys_now().asked.is_empty() => {
                self.is_set(id) || field(id).group == Group::Architecture
            }
            FieldDefault::OfModel(_) | FieldDefault::OfFile => {
                self.keys_now().value(id).is_some() || self.is_set(id)
            }
            _ if OF_IMAGES.contains(&id) => {
                self.is_set(id) || self.shape().tower.is_some_and(|tower| !tower.hears())
            }
            _ if id == FieldId::MaskedWindows => {
                let model = self.shape();
                let always = model.family.modules().masks_every_layer;
                let masks = always || model.sliding_window.is_some() && !model.chunks;
                masks && model.is_causal() && self.word::<Stack>(FieldId::Stack).is_played()
            }
            _ if OF_DROPOUT.contains(&id) => {
                let keys = self.shape().family.modules().drops.keys();
                let has_place =
                    OF_DROPOUT.iter().zip(keys).any(|(own, key)| *own == id && key.is_some());
                has_place && self.word::<Stack>(FieldId::Stack).is_played()
            }
            _ if id == FieldId::Sizes => self.reads_keys() || !self.is_pasted(),
            _ => true,
        }
    }

    /// True if the architecture is read from keys of a file, rather than from sizes stated by hand.
    pub fn reads_keys(&self) -> bool {
        self.model_now().source != Source::Sizes
    }

    /// True if keys were changed that cannot be read yet, because the reader has not been loaded.
    pub fn waits_for_keys(&self) -> bool {
        self.keys_now().wait()
    }

    /// True if it is not known which keys the model has, or which architecture they describe.
    pub fn lacks_keys(&self) -> bool {
        self.reads_keys() && self.keys_now().asked.is_empty()
    }

    /// Reads the keys once more, after the reader has come.
    pub fn read_keys_again(&mut self) {
        self.now.take();
        self.drop_what_is_default();
    }

    fn model_now(&self) -> &ModelNow {
        self.now.get_or_init(|| Arc::new(ModelNow { source: self.source(), keys: OnceLock::new() }))
    }

    /// Something that the model is made of has changed.
    pub(super) fn forget_model(&mut self, changed: FieldId) {
        let starts = matches!(
            changed,
            FieldId::Model | FieldId::ModelType | FieldId::TextModelType | FieldId::Sizes
        );
        if starts || field(changed).default.is_of_model() {
            self.now.take();
        }
    }

    fn source(&self) -> Source {
        let row = self.model();
        if self.flag_set(FieldId::Sizes) {
            return Source::Sizes;
        }
        let [of_text, of_file] =
            [FieldId::TextModelType, FieldId::ModelType].map(|id| self.text(id));
        let model_type = if of_text.is_empty() { of_file } else { of_text };
        match row {
            _ if !model_type.is_empty() => Source::Kind(model_type),
            Some(row) if row.has_keys => Source::Row(row.id),
            _ => Source::Sizes,
        }
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
        let mut set = self.set.clone();
        set.retain(|id, _| field(*id).default.is_of_model());
        let shape = match source {
            Source::Sizes => {
                return KeysNow { asked: Vec::new(), config: Ok(self.config_of_sizes()) };
            }
            Source::Row(id) if set.is_empty() => {
                catalog::model_of_id(id).map(|row| row.config.clone())
            }
            Source::Row(_) | Source::Kind(_) => None,
        };
        let read = read(source, &set);
        match shape {
            // A row's own shape needs no reader.
            Some(config) => {
                KeysNow { asked: read.map_or_else(Vec::new, |read| read.asked), config: Ok(config) }
            }
            None => read
                .unwrap_or_else(|| KeysNow { asked: Vec::new(), config: Err(Unread::waiting()) }),
        }
    }

    /// Takes over a file by its keys. Returns whether they say all of it; where they do not,
    /// nothing is set.
    pub(super) fn set_keys(&mut self, imported: &import::Imported) -> bool {
        let mut with = self.clone();
        for asked in imported.asked.iter().filter(|asked| asked.stated) {
            let Some((id, value)) = reader::asked_value(asked) else { return false };
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

    /// True if the model's family does not read that key. False while the keys give no
    /// architecture, because it is not known then.
    fn is_unread(&self, id: FieldId) -> bool {
        let now = self.keys_now();
        now.config.is_ok() && now.value(id).is_none()
    }

    /// Keys that were set and that the model's family, with its other keys as they are, does not
    /// look at.
    pub fn keys_without_effect(&self) -> Vec<FieldId> {
        if self.reads_keys() {
            self.set_of_model().filter(|id| self.is_unread(*id)).collect()
        } else {
            Vec::new()
        }
    }

    /// Sets a key as it was stated, before all others are: nobody knows yet what would count
    /// without it.
    pub(super) fn state_key(&mut self, id: FieldId, value: Value) {
        self.set.insert(id, value);
        self.forget_model(id);
    }

    /// Sets a key no more, before all others are stated.
    pub(super) fn unset_key(&mut self, id: FieldId) {
        self.set.remove(&id);
        self.forget_model(id);
    }

    /// Takes away keys that count without being set.
    pub(super) fn drop_what_is_default(&mut self) {
        if !self.reads_keys() || self.waits_for_keys() {
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

    /// Writes the present architecture as sizes by hand, or goes back to the keys of the model that
    /// it starts from.
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

/// Reads keys: here, or by the program that holds the reader; `None` while that has not come.
fn read(source: &Source, set: &Values) -> Option<KeysNow> {
    if cfg!(feature = "apart") {
        let question = wire::question(source, set);
        wire::read_answer(&later::ask(&format!("{ABOUT_KEYS} {question}"))?)
    } else {
        Some(reader::read(source, set))
    }
}

#[cfg(test)]
mod tests {
    use super::reader::{answer, asked_value, key_of_name, read};
    use super::wire::{question, read_answer};
    use super::{Source, Values};
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
        for key in models::tower_keys().chain([models::VISION_OF, models::VISION_KIND]) {
            assert!(key_of_name(key).is_some(), "a tower reads {key}");
        }
    }

    #[test]
    fn the_keys_of_a_row_say_all_of_its_shape() {
        let mut by_hand = Vec::new();
        for row in catalog::models() {
            let mut scenario = Scenario::default();
            scenario.set_model(row.id);
            if !row.has_keys {
                by_hand.push(row.id);
                continue;
            }
            assert_eq!(scenario.keys_now().config.as_ref(), Ok(&row.config), "{}", row.id);
            assert!(scenario.asks(FieldId::HiddenSize), "{}", row.id);
        }
        // Their shapes are written in their rows, or nested deeper than keys go.
        assert!(by_hand.len() * 5 < catalog::models().len(), "{by_hand:?}");
    }

    /// The page asks in text, and is told as much as a program is that reads keys itself.
    #[test]
    fn an_answer_in_text_is_the_answer() {
        let rows =
            catalog::models().iter().filter(|row| row.has_keys).map(|row| Source::Row(row.id));
        let kinds = models::names().map(|kind| Source::Kind(kind.to_owned()));
        let changes = [
            Values::new(),
            Values::from([
                (FieldId::NumHiddenLayers, Value::Integer(7)),
                (FieldId::TieWordEmbeddings, Value::Flag(true)),
            ]),
            Values::from([(FieldId::HiddenSize, Value::Integer(4100))]),
        ];
        for source in rows.chain(kinds).chain([Source::Kind("zebra".to_owned())]) {
            for set in &changes {
                let told = answer(&question(&source, set)).and_then(|text| read_answer(&text));
                assert_eq!(told, Some(read(&source, set)), "{source:?} {set:?}");
            }
        }
        assert_eq!(answer("sizes\n"), None);
        assert_eq!(read_answer("nothing"), None);
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
        assert!(
            scenario.is_set(FieldId::IntermediateSize) && !scenario.is_set(FieldId::HiddenSize)
        );
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
        assert_eq!(
            errors[0].message,
            "\"hidden_size\" (4100) must be a multiple of \"num_attention_heads\" (12)."
        );
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
        assert_eq!(
            told[0].text,
            "Without effect, as this model's family does not look at it: `kv_lora_rank`."
        );
        scenario.clear(FieldId::KvLoraRank);
        assert!(scenario.remarks(|| None).is_empty());
    }

    /// A file of several parts keeps the kind of the whole for its name, and the kind whose keys
    /// are read beside it.
    #[test]
    fn a_part_for_text_is_read_by_its_own_kind() {
        let text = r#"{ "model_type": "llava", "text_config": { "model_type": "llama", "num_hidden_layers": 4 }, "vision_config": {} }"#;
        let imported = config_json(text).expect("a known kind");
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        assert!(scenario.reads_keys());
        assert_eq!(scenario.model_config(), imported.config);
        assert_eq!(codec::decode(&codec::encode(&scenario)).scenario, scenario);
    }
}
