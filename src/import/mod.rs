//! Hugging Face `config.json` to an architecture, with a report of what was read, derived, assumed or ignored.
//!
//! Only what [`ModelConfig`] expresses exactly is accepted; anything else is refused with a sentence that names what is not
//! modelled. Reading is lenient about the notation (comments, trailing commas, `Infinity`) and strict about the meaning.

mod error;
mod gpt2;
mod llama;
mod reader;
mod refuse;
mod value;

pub use error::ImportError;

use crate::config::ModelConfig;
use reader::Reader;
use value::{Object, Value};

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
    /// The model's name, if the file says one.
    pub name: Option<String>,
    /// What was read, derived, assumed and ignored.
    pub report: Vec<ReportRow>,
}

/// The longest text that is read, bytes.
const MAX_BYTES: usize = 1_000_000;

/// Reads the text of a Hugging Face `config.json`.
///
/// Llama-like (`llama`, `mistral`, `qwen2`, `qwen3`, `phi3`, `gemma`, `granite`) and GPT-2-like (`gpt2`, `opt`, `gpt_neox`,
/// `bloom`, `mpt`) decoders are read. Of a file with a `text_config` only that part is used.
///
/// ```
/// let text = r#"{ "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257 }"#;
/// let imported = headroom::import::config_json(text)?;
/// assert_eq!(imported.config.intermediate_size, 3072);
/// # Ok::<(), headroom::import::ImportError>(())
/// ```
///
/// # Errors
/// [`ImportError`], a sentence for the person who pasted the text.
pub fn config_json(text: &str) -> Result<Imported, ImportError> {
    let file = parse(text)?;
    let nested = match file.get("text_config") {
        Some(Value::Object(object)) => Some(object),
        _ => None,
    };
    let base = nested.unwrap_or(&file);
    let kind = model_type(base)?;
    refuse::not_modelled(&kind, &file)?;
    refuse::not_modelled(&kind, base)?;
    let mut reader = Reader::new(base, nested.map(|_| &file));
    let config = match kind.as_str() {
        "gpt2" => gpt2::gpt2(&mut reader),
        "opt" => gpt2::opt(&mut reader),
        "gpt_neox" => gpt2::gpt_neox(&mut reader),
        "bloom" => gpt2::bloom(&mut reader),
        "mpt" => gpt2::mpt(&mut reader),
        _ => match llama::Kind::of(&kind) {
            Some(family) => llama::llama_like(&mut reader, &family),
            None => Err(ImportError::UnknownKind { model_type: value::shortened(&kind) }),
        },
    }?;
    reader::check_heads(&config)?;
    let name = name(base).or_else(|| name(&file));
    Ok(Imported { config, model_type: kind, name, report: reader.into_report() })
}

/// The text as one object, or what is wrong with it.
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
    let strict: Result<Value, _> = serde_json::from_str(text);
    let value = match strict {
        Ok(value) => value,
        Err(_) => json5::from_str(text).map_err(|problem| ImportError::NotJson { problem: problem.to_string() })?,
    };
    match value {
        Value::Object(object) => Ok(object),
        other => Err(ImportError::NotAnObject { found: other.kind() }),
    }
}

/// The kind of model: `model_type`, or the class named under `architectures`.
fn model_type(file: &Object) -> Result<String, ImportError> {
    match file.get("model_type") {
        Some(Value::Text(kind)) if !kind.is_empty() => return Ok(kind.clone()),
        None | Some(Value::Null | Value::Text(_)) => {}
        Some(other) => return Err(ImportError::wrong_type("model_type", "text", other)),
    }
    let class = match file.get("architectures") {
        Some(Value::List(classes)) => classes.first(),
        _ => None,
    };
    let Some(Value::Text(class)) = class else {
        return Err(ImportError::NoKind);
    };
    let kind = match class.as_str() {
        "LlamaForCausalLM" => "llama",
        "MistralForCausalLM" => "mistral",
        "Qwen2ForCausalLM" => "qwen2",
        "Qwen3ForCausalLM" => "qwen3",
        "Phi3ForCausalLM" => "phi3",
        "GemmaForCausalLM" => "gemma",
        "GraniteForCausalLM" => "granite",
        "GPT2LMHeadModel" => "gpt2",
        "OPTForCausalLM" => "opt",
        "GPTNeoXForCausalLM" => "gpt_neox",
        "BloomForCausalLM" => "bloom",
        "MptForCausalLM" | "MPTForCausalLM" => "mpt",
        other => other,
    };
    Ok(kind.to_owned())
}

/// The name the file gives itself, if any.
fn name(file: &Object) -> Option<String> {
    match file.get("_name_or_path").or_else(|| file.get("name_or_path")) {
        Some(Value::Text(name)) if !name.trim().is_empty() => Some(value::shortened(name.trim())),
        _ => None,
    }
}
