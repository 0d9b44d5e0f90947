//! Hugging Face `config.json` to an architecture, with a report of what was read, derived, assumed
//! or ignored.
//!
//! Every kind of the table is read with that kind's own defaults; a decoder of another kind is put
//! together from its keys and marked assumed. What is not modelled is named, and either counted as
//! something that needs at least as much or refused. Reading is lenient about the notation
//! (comments, trailing commas, `Infinity`) and strict about the meaning.

mod activation;
mod address;
mod attention_heads;
mod chunks;
mod compressed;
mod decoder;
mod dropout;
mod encoder;
mod error;
mod experts;
mod guess;
mod heads;
mod hybrid;
mod indexer;
mod inner;
mod keys;
mod label;
mod layers;
mod left_out;
mod only;
pub mod oom;
mod own_groups;
mod quantization;
mod reader;
mod refuse;
mod rotation;
mod said;
mod sizes;
mod source;
mod sparse_layers;
mod states;
mod streams;
mod task;
mod tower;
mod unread;
mod value;
mod vision_part;

pub use error::ImportError;
pub(crate) use keys::{
    List, NONE_BY_0, YES_OR_NO, config_of_keys, default_layers, list, read_words, write_words,
};
pub use label::kind_label;
pub use left_out::LeftOut;
pub(crate) use left_out::MTP_OF_CHECKPOINT;

use std::fmt::Write as _;

use crate::config::ModelConfig;
use crate::models::{self, FamilySpec};
pub use quantization::Quantized;
pub(crate) use reader::Asked;
use reader::Reader;
pub(crate) use value::{Object, Value};

/// How one value of the architecture came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Stated in the file.
    Read,
    /// Follows from other values of the file, or from the kind of model.
    Derived,
    /// Not in the file: the library's default for that kind of model.
    Assumed,
    /// In the file, not used here.
    Ignored,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// The key: the architecture's for values used, the file's for values ignored.
    pub key: String,
    /// The value, shortened where long.
    pub value: String,
    /// Where it came from.
    pub how: How,
    /// A sentence more, or nothing.
    pub note: String,
}

/// An architecture read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The architecture; all sizes are at least 1 and query heads can be grouped.
    pub config: ModelConfig,
    /// The kind of model, as Hugging Face names it, such as `llama`.
    pub model_type: String,
    /// The kind that the file as a whole calls itself: another one where only its part for text is
    /// read.
    pub file_type: String,
    /// True if the kind `model_type` is listed; false only where the caller asked to count an
    /// unknown kind as a generic decoder.
    pub known: bool,
    /// The model's name, if the file says one that is no folder of somebody's machine.
    pub name: Option<String>,
    /// How the weights are stored, if the file says so.
    pub quantization: Option<Quantized>,
    /// The values that were read, derived, assumed and ignored.
    pub report: Vec<ReportRow>,
    /// One sentence for everything that is not modelled and counted as something that needs at
    /// least as much; mostly empty.
    pub upper_bounds: Vec<String>,
    /// Keys of the file that may change the answer and are not understood, sorted by name; dotted
    /// where nested.
    pub not_counted: Vec<String>,
    /// Parts of the model that are not in [`Self::config`], such as a vision tower.
    pub left_out: Vec<LeftOut>,
    /// The keys that were looked at, with the values that count.
    pub(crate) asked: Vec<Asked>,
    /// How much the model drops in training, where its modules are known to drop anything.
    pub(crate) dropout: [Option<Value>; 3],
}

impl Imported {
    /// The shares that training drops: of embedded tokens, of what both halves of a block give, and
    /// of attention's probabilities. `None` where the modules drop nothing.
    pub fn dropout(&self) -> [Option<f64>; 3] {
        self.dropout.each_ref().map(|share| share.as_ref().map(dropout::number))
    }
}

/// The longest text that is read, bytes.
const MAX_BYTES: usize = 1_000_000;

/// Reads the text of a Hugging Face `config.json` and returns the architecture, with a report of
/// the values that were read, derived, assumed and ignored, and the keys that were not understood.
///
/// Of a file with a part for text (`text_config` and its like) only that part is used. A
/// `model_type` that is not listed is refused: [`config_json_as_generic`] counts it all the same,
/// for a caller who asks for it.
///
/// ```
/// let text = r#"{ "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
///     "vocab_size": 50257 }"#;
/// let imported = headroom::import::config_json(text)?;
/// assert_eq!(imported.config.intermediate_size, 3072);
/// # Ok::<(), headroom::import::ImportError>(())
/// ```
///
/// # Errors
/// [`ImportError`], a sentence for the person who pasted the text; [`ImportError::UnknownKind`] for
/// a kind that is not listed.
pub fn config_json(text: &str) -> Result<Imported, ImportError> {
    read(text, false)
}

/// Reads the text as [`config_json`] does, and a `model_type` that is not listed as a generic
/// decoder of the sizes that it states.
///
/// The answer is a guess: [`Imported::known`] is false, and [`Imported::not_counted`] names the
/// keys that were not understood.
///
/// ```
/// use headroom::import::{ImportError, config_json, config_json_as_generic};
/// let text = r#"{ "model_type": "zebra", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
///     "intermediate_size": 4096, "vocab_size": 32000, "rms_norm_eps": 1e-6, "stripes_per_head": 3 }"#;
/// assert!(matches!(config_json(text), Err(ImportError::UnknownKind { .. })));
/// let guessed = config_json_as_generic(text)?;
/// assert!(!guessed.known);
/// assert_eq!(guessed.not_counted, ["stripes_per_head"]);
/// # Ok::<(), ImportError>(())
/// ```
///
/// # Errors
/// [`ImportError`], a sentence for the person who pasted the text.
pub fn config_json_as_generic(text: &str) -> Result<Imported, ImportError> {
    read(text, true)
}

fn read(text: &str, as_generic: bool) -> Result<Imported, ImportError> {
    let parsed = opened(parse(text)?);
    let file = source::joined(&parsed).unwrap_or(parsed);
    let nested = keys::TEXT_PARTS.iter().find_map(|key| match file.get(*key) {
        Some(Value::Object(object)) => Some(object),
        _ => None,
    });
    let nested = nested.or_else(|| decoder_part(&file));
    let mut base = with_parts(nested.unwrap_or(&file));
    let model_type = kind_of(&base, nested.map(|_| &file))?;
    refuse::not_modelled(&model_type, &file)?;
    refuse::not_modelled(&model_type, &base)?;
    vision_part::beside(&mut base, &file);
    let by_name = models::of(&model_type).map(|kind| by_class(&base, kind));
    let other = by_name.and_then(|kind| by_key(&base, kind));
    let listed = other.or(by_name).copied();
    without_parts_of_others(&mut base, listed.as_ref());
    opened_within(&mut base, listed.as_ref());
    task::beside(&mut base, &model_type);
    let mut reader = Reader::new(&base, nested.map(|_| &file));
    if listed.is_none() && !as_generic {
        return Err(ImportError::UnknownKind { model_type: value::shortened(&model_type) });
    }
    let known = listed.is_some();
    tell_kind(&mut reader, &model_type, listed.as_ref());
    let kind = listed.unwrap_or_else(|| guess::guessed(&reader));
    let config = decoder::decoder(&mut reader, &kind)?;
    sizes::check_heads(&config)?;
    // The text part of a larger model is often named after the model it was made from.
    let name = name(&file);
    let quantization = quantization::quantization(&mut reader);
    // Neither name nor class says anything of a file that a key shows to be of another kind.
    let named = if other.is_some() { None } else { Some(model_type.as_str()) };
    let dropout = dropout::shares(&mut reader, kind.modules);
    let not_counted = unread::not_counted(&reader, &kind, named, &config);
    let groups = tower::groups(&base);
    let left_out = left_out::left_out(&kind, (&base, nested.map(|_| &file)), &groups);
    let asked = reader.asked().to_vec();
    let (report, upper_bounds) = reader.into_report();
    let model_type = match kind.names.first() {
        Some(name) if !kind.names.contains(&model_type.as_str()) => (*name).to_owned(),
        _ => model_type,
    };
    let whole = nested.and_then(|_| self::model_type(&file).ok());
    let file_type = whole.unwrap_or_else(|| model_type.clone());
    Ok(Imported {
        config,
        model_type,
        file_type,
        known,
        name,
        quantization,
        report,
        upper_bounds,
        not_counted,
        left_out,
        asked,
        dropout,
    })
}

/// The decoder of a file that has a group for it and one for its encoder, where that decoder's kind
/// is listed.
fn decoder_part(file: &Object) -> Option<&Object> {
    let Some(Value::Object(part)) = file.get("decoder_config") else { return None };
    matches!(part.get("model_type"), Some(Value::Text(kind)) if models::of(kind).is_some())
        .then_some(part)
}

/// A file whose parts stand one level deeper, in a model inside it, with the keys of that model in
/// the place of its own.
fn opened(mut file: Object) -> Object {
    // The model inside a robot's policy is of a kind of its own, which says nothing about the
    // whole.
    for (key, is_whole) in [("thinker_config", true), ("vlm_config", false)] {
        if let Some(Value::Object(mut inner)) = file.remove(key) {
            if !is_whole {
                inner.remove("model_type");
            }
            file.extend(inner);
        }
    }
    file
}

/// The keys of a file together with those that MPT and DBRX keep one level deeper.
fn with_parts(file: &Object) -> Object {
    let mut keys = file.clone();
    for part in ["attn_config", "ffn_config"] {
        if let Some(Value::Object(inner)) = keys.remove(part) {
            for (key, value) in inner {
                keys.entry(key).or_insert(value);
            }
        }
    }
    keys
}

/// Puts the keys of the group that holds a kind's sizes in its place; what the file itself says
/// stays.
fn opened_within(file: &mut Object, kind: Option<&FamilySpec>) {
    let Some(group) = kind.map(|kind| kind.within).filter(|group| !group.is_empty()) else {
        return;
    };
    if let Some(Value::Object(inner)) = file.remove(group) {
        for (key, value) in inner {
            file.entry(key).or_insert(value);
        }
    }
}

/// Takes out groups of keys that describe parts which the file's class does not have.
fn without_parts_of_others(file: &mut Object, kind: Option<&FamilySpec>) {
    let Some((class, groups)) = kind.map(|kind| kind.alone) else { return };
    if value::class_of(file.get("architectures"))
        .is_some_and(|stated| stated.strip_suffix("ForCausalLM") == Some(class))
    {
        for group in groups {
            file.remove(*group);
        }
    }
}

/// The kind of the class under `architectures`, where that is another listed one than `kind`:
/// servers run the class, and files of the wild carry the `model_type` of an older model.
fn by_class(file: &Object, kind: &'static FamilySpec) -> &'static FamilySpec {
    let of_class = value::class_of(file.get("architectures")).and_then(models::of_class);
    of_class.filter(|of_class| !kind.may_be_saved_as(of_class.class)).unwrap_or(kind)
}

/// The kind that a key of the file shows, where several kinds go by one name: code on the hub has
/// no registry that would keep them apart.
fn by_key(file: &Object, kind: &'static FamilySpec) -> Option<&'static FamilySpec> {
    let shows = |key: &str, value: &str| match file.get(key) {
        None | Some(Value::Null | Value::Bool(false) | Value::Whole(0)) => false,
        Some(_) if value.is_empty() => true,
        Some(Value::Text(word) | Value::OtherNumber(word)) => word == value,
        Some(Value::Whole(number)) => number.to_string() == value,
        Some(Value::Bool(true) | Value::List(_) | Value::Object(_)) => false,
    };
    let other = kind.instead.iter().find(|(key, value, _)| shows(key, value));
    other.and_then(|(_, _, other)| models::of(other))
}

/// The first line of the report: whose modules are counted.
fn tell_kind(reader: &mut Reader<'_>, model_type: &str, kind: Option<&FamilySpec>) {
    reader.without_effect(&["model_type"]);
    let shown = value::shortened(model_type);
    let mut note = String::new();
    let how = match kind {
        Some(kind) if kind.modules.model_type == model_type => How::Read,
        Some(kind) if kind.modules.encoder.counts_attention => {
            note.push_str("Its parameters are counted alone: running them is not modelled.");
            How::Read
        }
        Some(kind) if !kind.family().is_generic() => {
            // Writing into a String cannot fail.
            let _ = write!(note, "Counted with the modules of {}.", kind.modules.model_type);
            How::Assumed
        }
        Some(_) => {
            note.push_str("A known shape; the modules that run it are assumed.");
            How::Assumed
        }
        None => {
            note.push_str("Not a kind listed here: counted as a generic decoder of the sizes that the file states.");
            How::Assumed
        }
    };
    reader.tell("model_type", &shown, how, note);
}

/// The text as one object, or the reason why it is none.
fn parse(text: &str) -> Result<Object, ImportError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(ImportError::Empty);
    }
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLong { bytes: text.len() });
    }
    if text.starts_with('<') {
        return Err(ImportError::WebPage);
    }
    if text.chars().take(200).any(|sign| matches!(sign, '\0' | '\u{fffd}')) {
        return Err(ImportError::Binary);
    }
    if let Some(file) = address::of_config(text) {
        return Err(ImportError::Address { file });
    }
    let strict: Result<Value, _> = serde_json::from_str(text);
    let value = match strict {
        Ok(value) => value,
        Err(_) => json5::from_str(text)
            .map_err(|problem| ImportError::NotJson { problem: problem.to_string() })?,
    };
    match value {
        Value::Object(object) => Ok(object),
        other => Err(ImportError::NotAnObject { found: other.kind() }),
    }
}

/// JSON with comments or commas too many, as people keep it in files; nothing where it is none.
pub(crate) fn lenient_json(text: &str) -> Option<serde_json::Value> {
    json5::from_str(text).ok()
}

/// The kind of a file, or of its part for text: where that names none, or one that is not known,
/// the file around it may say it.
fn kind_of(base: &Object, around: Option<&Object>) -> Result<String, ImportError> {
    let is_listed = |kind: &String| models::of(kind).is_some();
    let own = model_type(base);
    let Some(around) = around.filter(|_| !own.as_ref().is_ok_and(is_listed)) else { return own };
    let whole = model_type(around);
    if own.is_err() || whole.as_ref().is_ok_and(is_listed) { whole } else { own }
}

/// The kind of model: `model_type`, or the class named under `architectures`.
fn model_type(file: &Object) -> Result<String, ImportError> {
    match file.get("model_type") {
        Some(Value::Text(kind)) if !kind.is_empty() => return Ok(kind.clone()),
        None | Some(Value::Null | Value::Text(_)) => {}
        Some(other) => return Err(ImportError::wrong_type("model_type", "text", other)),
    }
    let class = value::class_of(file.get("architectures")).ok_or(ImportError::NoKind)?;
    let known = models::of_class(class).and_then(|kind| kind.names.first());
    Ok((*known.unwrap_or(&class)).to_owned())
}

/// The name the file gives itself, if any.
fn name(file: &Object) -> Option<String> {
    match file.get("_name_or_path").or_else(|| file.get("name_or_path")) {
        Some(Value::Text(name)) => label::sensible_name(name),
        _ => None,
    }
}
