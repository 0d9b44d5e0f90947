//! The metadata of a GGUF file as the keys of a `config.json`, for the architectures of llama.cpp
//! that a family names.

use serde_json::{Map, Value, json};

use super::CheckpointError;
use super::gguf::{Header, Meta};
use crate::config::WeightFormat;
use crate::import::{self, Imported, Quantized};
use crate::models;

/// Keys that all architectures have, behind the architecture's name, and those of `config.json`.
const KEYS: [(&str, &str); 8] = [
    ("block_count", "num_hidden_layers"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("context_length", "max_position_embeddings"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
];

/// Mixes of formats by the number that a file states (`LLAMA_FTYPE` of `llama.h`).
const MIXES: [(u64, WeightFormat); 30] = [
    (1, WeightFormat::Gguf16),
    (2, WeightFormat::Q4_0),
    (3, WeightFormat::Q4_1),
    (7, WeightFormat::Q8_0),
    (8, WeightFormat::Q5_0),
    (9, WeightFormat::Q5_1),
    (10, WeightFormat::Q2K),
    (11, WeightFormat::Q3KS),
    (12, WeightFormat::Q3KM),
    (13, WeightFormat::Q3KL),
    (14, WeightFormat::Q4KS),
    (15, WeightFormat::Q4KM),
    (16, WeightFormat::Q5KS),
    (17, WeightFormat::Q5KM),
    (18, WeightFormat::Q6K),
    (19, WeightFormat::Iq2Xxs),
    (20, WeightFormat::Iq2Xs),
    (21, WeightFormat::Q2KS),
    (22, WeightFormat::Iq3Xs),
    (23, WeightFormat::Iq3Xxs),
    (24, WeightFormat::Iq1S),
    (25, WeightFormat::Iq4Nl),
    (26, WeightFormat::Iq3S),
    (27, WeightFormat::Iq3M),
    (28, WeightFormat::Iq2S),
    (29, WeightFormat::Iq2M),
    (30, WeightFormat::Iq4Xs),
    (31, WeightFormat::Iq1M),
    (32, WeightFormat::Gguf16),
    (38, WeightFormat::Mxfp4Moe),
];

/// The model that the headers describe: the keys are in the first file, tensors in all.
pub(super) fn imported(headers: &[Header]) -> Result<Imported, CheckpointError> {
    let Some(first) = headers.first() else { return Err(CheckpointError::NoModel) };
    let name = first.text("general.architecture").unwrap_or_default();
    let experts = first.get(&format!("{name}.expert_count"));
    let has_experts = matches!(experts, Some(Meta::Whole(count)) if *count > 0);
    let Some((kind, written)) = models::of_gguf(name, has_experts) else {
        return Err(CheckpointError::Architecture { name: name.to_owned() });
    };
    let mut imported =
        import::config_json(&Value::Object(keys(headers, (name, kind), written.keys)).to_string())?;
    imported.name = first
        .text("general.name")
        .map(str::to_owned)
        .filter(|name| imported.name.is_none() && name.len() <= 60);
    let mix = match first.get("general.file_type") {
        Some(Meta::Whole(number)) => MIXES.iter().find(|(known, _)| known == number),
        _ => None,
    };
    imported.quantization = mix.map(|(_, format)| Quantized { format: *format, group_size: None });
    Ok(imported)
}

/// The keys of a `config.json` that say the same.
fn keys(
    headers: &[Header],
    (architecture, kind): (&str, &str),
    further: &[(&str, &str)],
) -> Map<String, Value> {
    let mut keys = Map::new();
    let shape = |name: &str| headers.iter().find_map(|header| header.shape(name));
    for (own, name) in KEYS.iter().chain(further) {
        let stated = headers
            .first()
            .and_then(|header| header.get(&format!("{architecture}.{own}")))
            .and_then(value);
        let of_a_tensor = || shape(&format!("blk.0.{own}")).map(|_| json!(true));
        keys.extend(stated.or_else(of_a_tensor).map(|value| ((*name).to_owned(), value)));
    }
    // Rows of the table of tokens: the list of tokens may be shorter.
    keys.extend(
        shape("token_embd.weight")
            .and_then(|shape| shape.last())
            .map(|rows| ("vocab_size".to_owned(), json!(rows))),
    );
    keys.insert("tie_word_embeddings".to_owned(), json!(shape("output.weight").is_none()));
    keys.insert("model_type".to_owned(), json!(kind));
    keys
}

/// A value of the metadata as JSON; a list that says the same of every layer as that one value.
/// Other lists have none: the key is then missing, and the file is refused for it.
fn value(meta: &Meta) -> Option<Value> {
    match meta {
        Meta::Whole(number) => Some(json!(number)),
        Meta::Other(number) => Some(json!(number)),
        Meta::Flag(yes) => Some(json!(yes)),
        Meta::Wholes(numbers) => {
            let first = numbers.first()?;
            numbers.iter().all(|number| number == first).then(|| json!(first))
        }
        Meta::Text(_) | Meta::Long => None,
    }
}
