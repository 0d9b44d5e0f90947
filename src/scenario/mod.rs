//! The user's inputs: a scenario, the table of its inputs, its checks, its links and its saved
//! form.
//!
//! A [`Scenario`] holds only what differs from the starting model, the starting accelerator and the
//! defaults. [`Scenario::resolve`] turns it into a checked [`Job`](crate::config::Job) or names
//! every problem at once. [`codec`] writes it as a link and reads links of every earlier version;
//! [`records`] keeps it in storage and in files.

pub mod codec;
mod drafting;
mod fields;
mod following;
mod keys;
pub mod later;
mod layers;
mod model;
mod names;
mod naming;
mod number;
mod pasted;
pub mod records;
mod remarks;
mod resolve;
mod serving;
mod text;
mod words;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

pub use fields::{
    Applies, Field, FieldDefault, FieldId, FieldKind, FieldOption, Group, Value, field,
    field_of_key, fields, help, option_help, parse, range_text, reference, show,
};
pub use following::FOLLOWING;
pub use model::{ABOUT_KEYS, read_keys};
pub use names::{ABOUT_NAMES, id_of};
pub(crate) use naming::size as short_count;
pub use number::number_and_unit;
pub use remarks::{Remark, RemarkKind};
pub use resolve::FieldError;
pub use text::clean;
pub use words::{Mode, Word};

use crate::catalog::{self, AcceleratorRow, ModelRow};
use crate::config::ModelConfig;
use crate::units::MemoryUnit;

/// One set of inputs.
///
/// Every value that was not set is the starting model's, the starting accelerator's or the field's
/// default. Setting a value to what it would be anyway removes it, so that equal scenarios compare
/// equal and links stay short.
///
/// ```
/// use headroom::scenario::{FieldId, Scenario, Value};
/// let mut scenario = Scenario::default();
/// assert_eq!(scenario.get(FieldId::NumHiddenLayers), Value::Integer(32));
/// scenario.set(FieldId::NumHiddenLayers, Value::Integer(40));
/// assert!(scenario.is_set(FieldId::NumHiddenLayers));
/// scenario.set_model("llama3-70b");
/// assert_eq!(scenario.get(FieldId::NumHiddenLayers), Value::Integer(80));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    set: BTreeMap<FieldId, Value>,
    /// Values of inputs that follow while the model is served; nothing until it is, and in what a
    /// link says.
    followed: Option<following::Followed>,
    /// Parts of a link that this version does not know, kept for the next link.
    unknown: Vec<(String, String)>,
    /// The model as it is now, once somebody has asked.
    now: OnceLock<Arc<model::ModelNow>>,
}

/// Two scenarios are the same if the same inputs were set to the same values, and what follows is
/// the same; what followed in another mode than the present one does not count.
impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
            && self.unknown == other.unknown
            && self.following().eq(other.following())
    }
}

impl Scenario {
    /// Returns the value that counts: the one set, else one that follows, else the model's or
    /// accelerator's, else the field's default.
    ///
    /// [`Value::Empty`] stands for an optional value that nobody knows.
    pub fn get(&self, id: FieldId) -> Value {
        self.set
            .get(&id)
            .or_else(|| self.followed_value(id))
            .cloned()
            .unwrap_or_else(|| self.start(id))
    }

    /// Returns the value that a field has when it is cleared, unless it then follows.
    pub fn start(&self, id: FieldId) -> Value {
        match field(id).default {
            FieldDefault::Integer(value) => Value::Integer(value),
            FieldDefault::Decimal(value) => Value::Decimal(value),
            FieldDefault::Choice(value) if id == FieldId::WeightDType => {
                self.published_weights().unwrap_or(Value::Choice(value))
            }
            FieldDefault::Choice(value) => Value::Choice(value),
            FieldDefault::Flag(value) => {
                Value::Flag(value && !(BESIDE_EXPERTS.contains(&id) && self.has_experts()))
            }
            FieldDefault::Text(value) => Value::Text(value.to_owned()),
            FieldDefault::Empty => Value::Empty,
            FieldDefault::OfModel(_) | FieldDefault::OfFile => self.of_model_without(id),
            FieldDefault::OfAccelerator(of) => self.accelerator().map_or(Value::Empty, of),
        }
    }

    /// The format in which the model's weights are published, where its row of the list states one.
    fn published_weights(&self) -> Option<Value> {
        let row = self.model().filter(|_| !self.is_pasted())?;
        row.weights.map(Value::choice)
    }

    /// Returns true if the value differs from the one that the field has when cleared.
    pub fn is_set(&self, id: FieldId) -> bool {
        self.set.contains_key(&id)
    }

    /// Returns every field that was set, in the order of the form.
    pub fn set_fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        fields().iter().map(|field| field.id).filter(|id| self.is_set(*id))
    }

    /// Sets a value. Model and accelerator are changed as by [`set_model`](Self::set_model) and
    /// [`set_accelerator`](Self::set_accelerator). A value of a kind that the field does not take
    /// is ignored; one out of range is kept and named by [`resolve`](Self::resolve).
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Scenario, Value};
    ///
    /// let mut scenario = Scenario::default();
    /// scenario.set(FieldId::Gpus, Value::Integer(64));
    /// assert_eq!(scenario.get(FieldId::Gpus), Value::Integer(64));
    /// scenario.clear(FieldId::Gpus);
    /// assert!(!scenario.is_set(FieldId::Gpus));
    /// ```
    pub fn set(&mut self, id: FieldId, value: Value) {
        match (field(id).kind, value) {
            (FieldKind::Model, Value::Text(model)) => _ = self.set_model(&model),
            (FieldKind::Accelerator, Value::Text(accelerator)) => {
                _ = self.set_accelerator(&accelerator);
            }
            (FieldKind::Text { max_len }, Value::Text(text)) => {
                // A draft model is a row of the catalog, whose names have plain letters.
                let is_name = |letter: &char| id != FieldId::DraftModel || letter.is_ascii();
                let plain: String = text.chars().filter(is_name).collect();
                let short: String = clean(&plain).chars().take(max_len).collect();
                self.put(id, Value::Text(short.trim_end().to_owned()));
            }
            (FieldKind::Words { max_len }, Value::Text(text)) if text.len() <= max_len => {
                self.put(id, Value::Text(keys::words(&text)));
            }
            (FieldKind::Keys { max_len }, Value::Text(text)) => {
                self.put(id, Value::Text(keys::clean(&text, max_len)));
            }
            // Adding zero turns minus zero into zero, which alone can be written and read.
            (FieldKind::Decimal { .. }, Value::Decimal(number)) if number.is_finite() => {
                self.put(id, Value::Decimal(number + 0.0));
            }
            (kind, value) if takes(kind, &value) => self.put(id, value),
            _ => {}
        }
    }

    /// Gives a field back its model's, accelerator's or default value; one that can follow follows
    /// again.
    pub fn clear(&mut self, id: FieldId) {
        let start = self.start(id);
        match field(id).kind {
            FieldKind::Model | FieldKind::Accelerator => self.set(id, start),
            _ => {
                self.set.remove(&id);
                self.forget_model(id);
                self.follow_again(id);
                self.follow_degrees();
                self.settle();
            }
        }
    }

    /// Starts from another model of the catalog, by id or other name, and drops all changes to the
    /// architecture.
    ///
    /// Returns true if the model is known; an unknown one changes nothing.
    pub fn set_model(&mut self, id: &str) -> bool {
        let Some(row) = catalog::model_of_id(id) else { return false };
        // A row that takes the place of one that is not listed takes over what the link said, by
        // hand or by keys.
        let stays = |id: &FieldId| *id == FieldId::Sizes && self.model().is_none();
        let gone: Vec<FieldId> = OF_A_FILE.into_iter().filter(|id| !stays(id)).collect();
        self.set.retain(|id, _| !gone.contains(id));
        self.forget_model(FieldId::Model);
        let carried = self.take_changes(FieldId::Model);
        self.put(FieldId::Model, Value::Text(row.id.to_owned()));
        self.put_back(carried);
        true
    }

    /// Starts from another accelerator of the catalog, by id or other name, and drops all changes
    /// to it. A price that nobody typed becomes the listed one of the new accelerator: a price that
    /// is the default or the old accelerator's listed one.
    ///
    /// Returns true if it is known; an unknown one changes nothing.
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Scenario, Value};
    ///
    /// let mut scenario = Scenario::default();
    /// scenario.set_accelerator("b200");
    /// assert_eq!(scenario.get(FieldId::PricePerHour), Value::Decimal(5.0));
    /// scenario.set(FieldId::PricePerHour, Value::Decimal(3.5));
    /// scenario.set_accelerator("h200");
    /// assert_eq!(scenario.get(FieldId::PricePerHour), Value::Decimal(3.5));
    /// ```
    pub fn set_accelerator(&mut self, id: &str) -> bool {
        let Some(row) = catalog::accelerator_of_id(id) else { return false };
        let price = self.price_on(row);
        self.take_accelerator(id);
        self.put(FieldId::PricePerHour, price);
        true
    }

    /// Returns the price of a GPU-hour once the scenario starts from that accelerator.
    pub fn price_on(&self, row: &AcceleratorRow) -> Value {
        let price = self.get(FieldId::PricePerHour);
        let is_typed =
            self.is_set(FieldId::PricePerHour) && Some(&price) != self.list_price().as_ref();
        if is_typed || self.accelerator().is_some_and(|own| own.id == row.id) {
            return price;
        }
        let listed = row.list_price().map(|listed| Value::Decimal(listed.us_dollars));
        listed.unwrap_or_else(|| self.start(FieldId::PricePerHour))
    }

    /// Returns the listed price of the accelerator; `None` where no list that was read has it.
    pub fn list_price(&self) -> Option<Value> {
        Some(Value::Decimal(self.accelerator()?.list_price()?.us_dollars))
    }

    /// Starts from another accelerator without a look at its price: what a link does not state is
    /// the field's default.
    fn take_accelerator(&mut self, id: &str) -> bool {
        let Some(row) = catalog::accelerator_of_id(id) else { return false };
        let carried = self.take_changes(FieldId::Accelerator);
        self.put(FieldId::Accelerator, Value::Text(row.id.to_owned()));
        self.put_back(carried);
        true
    }

    /// Starts from a model or an accelerator by a link's word for it, which the list may not have.
    /// The scenario then keeps that word, so that the next link says the same, and
    /// [`resolve`](Self::resolve) refuses it: no other row stands in for it.
    fn start_from(&mut self, id: FieldId, word: &str) {
        let listed =
            if id == FieldId::Model { self.set_model(word) } else { self.take_accelerator(word) };
        if !listed {
            self.take_changes(id);
            self.set.insert(id, Value::Text(word.to_owned()));
            self.forget_model(id);
        }
    }

    /// Returns true if the scenario starts from a model or an accelerator by a word that may be
    /// another name of a row, and the list of these names has not been loaded yet.
    pub fn waits_for_names(&self) -> bool {
        let id =
            [FieldId::Model, FieldId::Accelerator].into_iter().find(|id| self.is_unlisted(*id));
        id.is_some_and(|id| names::listed(id, &self.text(id)) == names::Listed::NotYet)
    }

    /// Returns true if the scenario starts from a model or an accelerator that the list does not
    /// have.
    pub fn is_unlisted(&self, id: FieldId) -> bool {
        match id {
            FieldId::Model => self.model().is_none(),
            FieldId::Accelerator => self.accelerator().is_none(),
            _ => false,
        }
    }

    /// Takes away what was changed of the present model or accelerator, and gives back what may be
    /// kept for the next one: where the list does not have the present one, all that the link said
    /// about it.
    fn take_changes(&mut self, start: FieldId) -> Vec<(FieldId, Value)> {
        let of_start = |id: FieldId| match start {
            FieldId::Model => field(id).default.is_of_model(),
            _ => is_of_accelerator(id),
        };
        let carried = self
            .set
            .iter()
            .filter(|(id, _)| of_start(**id))
            .map(|(id, value)| (*id, value.clone()))
            .collect();
        self.set.retain(|id, _| !of_start(*id));
        self.forget_model(start);
        if self.is_unlisted(start) { carried } else { Vec::new() }
    }

    fn put_back(&mut self, carried: Vec<(FieldId, Value)>) {
        for (id, value) in carried {
            self.put(id, value);
        }
    }

    /// Returns the scenario's own name; empty if it has none.
    pub fn name(&self) -> String {
        self.text(FieldId::Name)
    }

    /// Names the scenario; control and reordering characters are dropped, the text is cut at 60
    /// characters.
    pub fn set_name(&mut self, name: &str) {
        self.set(FieldId::Name, Value::Text(name.to_owned()));
    }

    /// Returns the mode: the model is trained, fine-tuned or served.
    pub fn mode(&self) -> Mode {
        self.word(FieldId::Mode)
    }

    /// Returns the unit in which memory is written, GB or GiB.
    pub fn memory_unit(&self) -> MemoryUnit {
        self.word(FieldId::MemoryUnit)
    }

    /// Returns the model of the catalog that the architecture starts from; `None` where the list
    /// does not have it.
    pub fn model(&self) -> Option<&'static ModelRow> {
        catalog::model_of_id(&self.text(FieldId::Model))
    }

    /// Returns the accelerator of the catalog that the hardware starts from; `None` where the list
    /// does not have it.
    pub fn accelerator(&self) -> Option<&'static AcceleratorRow> {
        catalog::accelerator_of_id(&self.text(FieldId::Accelerator))
    }

    /// Returns true if the architecture differs from that of the model that the scenario starts
    /// from.
    pub fn is_custom_model(&self) -> bool {
        self.set.keys().any(|id| field(*id).default.is_of_model())
    }

    /// Returns true if the accelerator differs from the one that the scenario starts from.
    pub fn is_custom_accelerator(&self) -> bool {
        self.set.keys().any(|id| is_of_accelerator(*id))
    }

    /// Returns every field whose value counts in one of the modes in use and differs between the
    /// two scenarios, in the order of the form.
    pub fn differences(&self, other: &Self) -> Vec<FieldId> {
        // A key that only one of the two families reads says nothing about the other.
        let counts = |field: &&Field| match field.default {
            FieldDefault::OfFile => self.counts(field) && other.counts(field),
            _ => self.counts(field) || other.counts(field),
        };
        fields()
            .iter()
            .filter(counts)
            .map(|field| field.id)
            .filter(|id| self.get(*id) != other.get(*id))
            .collect()
    }

    /// Returns every input that counts: in the scenario's mode, and for its model.
    pub fn counting_fields(&self) -> impl Iterator<Item = &'static Field> + '_ {
        fields().iter().filter(|field| self.counts(field))
    }

    /// Returns true if an input counts: in the scenario's mode, and for its model.
    pub fn counts(&self, field: &Field) -> bool {
        field.applies.in_mode(self.mode()) && self.asks(field.id)
    }

    fn put(&mut self, id: FieldId, value: Value) {
        self.end_following(id);
        if field(id).default.is_of_model() && self.reads_keys() {
            self.state_key(id, value);
            self.drop_what_is_default();
        } else if is_shown_alike(id, &value, &self.start(id)) {
            self.set.remove(&id);
        } else {
            self.set.insert(id, value);
        }
        self.forget_model(id);
        if matches!(id, FieldId::ModelType | FieldId::TextModelType) {
            self.drop_what_is_default();
        }
        if id == FieldId::Mode {
            self.begin_following();
        }
        self.follow_degrees();
        self.settle();
    }

    fn has_experts(&self) -> bool {
        self.shape().moe.is_some()
    }

    /// Clears the inputs that are now equal to the values they would start from, because experts
    /// came or went.
    fn settle(&mut self) {
        for id in BESIDE_EXPERTS {
            if self.set.get(&id) == Some(&self.start(id)) {
                self.set.remove(&id);
            }
        }
    }

    fn text(&self, id: FieldId) -> String {
        match (self.set.get(&id), field(id).default) {
            (Some(Value::Text(text)), _) => text.clone(),
            (_, FieldDefault::Text(text)) => text.to_owned(),
            _ => String::new(),
        }
    }

    /// True if a flag that is no by default was set to yes.
    fn flag_set(&self, id: FieldId) -> bool {
        self.set.get(&id) == Some(&Value::Flag(true))
    }

    fn word<T: Word + Default>(&self, id: FieldId) -> T {
        match self.get(id) {
            Value::Choice(word) => T::from_word(word).unwrap_or_default(),
            _ => T::default(),
        }
    }
}

/// Fields about the file that the model was read from; another model of the catalog clears them.
const OF_A_FILE: [FieldId; 7] = [
    FieldId::ModelName,
    FieldId::ModelType,
    FieldId::TextModelType,
    FieldId::Sizes,
    FieldId::AsGeneric,
    FieldId::NotCounted,
    FieldId::LeftOut,
];

/// Adapters that a model with experts starts without: peft would put them on every expert, and make
/// each expert anew in every pass.
const BESIDE_EXPERTS: [FieldId; 3] = [FieldId::AdaptGate, FieldId::AdaptUp, FieldId::AdaptDown];

/// True if two values are equal or are shown alike. Forms show decimals of presets rounded, such as
/// 79.6474609375 GiB, so a decimal that reads as the other is the other.
fn is_shown_alike(id: FieldId, value: &Value, other: &Value) -> bool {
    value == other || matches!(value, Value::Decimal(_)) && show(id, value) == show(id, other)
}

/// True if the field's default is the accelerator's own value.
fn is_of_accelerator(id: FieldId) -> bool {
    matches!(field(id).default, FieldDefault::OfAccelerator(_))
}

fn architecture_fields() -> impl Iterator<Item = &'static Field> {
    fields().iter().filter(|field| field.default.is_of_model())
}

fn differences(a: &ModelConfig, b: &ModelConfig) -> impl Iterator<Item = FieldId> {
    fields().iter().filter(|field| field.of_model(a) != field.of_model(b)).map(|field| field.id)
}

/// True if a field of that kind takes values of this type; ranges are not looked at.
fn takes(kind: FieldKind, value: &Value) -> bool {
    match (kind, value) {
        (FieldKind::Integer { .. }, Value::Integer(_))
        | (FieldKind::Flag, Value::Flag(_))
        | (FieldKind::Layers, Value::Layers(_)) => true,
        (FieldKind::Choice(options), Value::Choice(word)) => {
            options.iter().any(|option| option.value == *word)
        }
        (
            FieldKind::Integer { optional, .. } | FieldKind::Decimal { optional, .. },
            Value::Empty,
        ) => optional,
        _ => false,
    }
}
