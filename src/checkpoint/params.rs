//! Mistral's own `params.json`, beside `consolidated.safetensors`: the keys of mistral-inference,
//! as vLLM's `configs/mistral.py` and transformers' conversion script translate them.

use serde_json::{Map, Value, json};

use super::CheckpointError;
use super::safetensors::object;
use crate::import::{self, Imported, LeftOut};

/// Keys that become one of `config.json`.
const KEYS: [(&str, &str); 13] = [
    ("dim", "hidden_size"),
    ("n_layers", "num_hidden_layers"),
    ("head_dim", "head_dim"),
    ("hidden_dim", "intermediate_size"),
    ("n_heads", "num_attention_heads"),
    ("n_kv_heads", "num_key_value_heads"),
    ("norm_eps", "rms_norm_eps"),
    ("vocab_size", "vocab_size"),
    ("rope_theta", "rope_theta"),
    ("sliding_window", "sliding_window"),
    ("max_position_embeddings", "max_position_embeddings"),
    ("max_seq_len", "max_position_embeddings"),
    ("tied_embeddings", "tie_word_embeddings"),
];

/// Keys without which the shape would have to be guessed.
const STATED: [&str; 5] = ["dim", "n_layers", "n_heads", "hidden_dim", "vocab_size"];

/// Keys of experts that become one of `config.json`.
const OF_EXPERTS: [(&str, &str); 2] =
    [("num_experts", "num_local_experts"), ("num_experts_per_tok", "num_experts_per_tok")];

/// Keys that change no shape: how positions are rotated, scores scaled, weights stored, and how a
/// server is laid out.
const HARMLESS: [&str; 9] = [
    "causal",
    "yarn",
    "llama_4_scaling",
    "quantization",
    "model_parallel",
    "rope_scaling",
    "max_batch_size",
    "model_type",
    "ragged_attention",
];

/// Parts beside the text.
const PARTS: [(&str, &str); 2] =
    [("vision_encoder", "vision tower"), ("multimodal", "part for images or sound")];

/// True for a text with the keys of a `params.json`.
pub(super) fn is_params(start: &[u8]) -> bool {
    object(start).is_some_and(|keys| {
        ["dim", "n_layers", "n_heads"].iter().all(|key| keys.contains_key(*key))
    })
}

/// Reads the text of a `params.json`.
pub(super) fn read(name: &str, text: &str) -> Result<Imported, CheckpointError> {
    let broken = |what: String| CheckpointError::broken(name, what);
    let keys: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| broken(format!("it is no JSON ({error})")))?;
    if let Some(missing) = STATED.iter().find(|key| !keys.contains_key(**key)) {
        return Err(broken(format!("it does not state {missing}")));
    }
    let mut config = Map::new();
    let (mut not_counted, mut left_out) = (Vec::new(), Vec::new());
    for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
        if let Some((_, name)) = KEYS.iter().find(|(own, _)| own == key) {
            config.insert((*name).to_owned(), value.clone());
        } else if let Some((_, part)) = PARTS.iter().find(|(own, _)| own == key) {
            left_out.push(LeftOut {
                part: (*part).to_owned(),
                key: key.clone(),
                of_checkpoint: false,
            });
        } else if key == "moe" {
            experts(value, &mut config, &mut not_counted);
        } else if !HARMLESS.contains(&key.as_str()) && *value != Value::Bool(false) {
            not_counted.push(key.clone());
        }
    }
    let class = if config.contains_key("num_local_experts") {
        "MixtralForCausalLM"
    } else {
        "MistralForCausalLM"
    };
    config.insert("architectures".to_owned(), json!([class]));
    // The library's own default is a window of 4 096 tokens; a file that states none has none.
    config.entry("sliding_window").or_insert(Value::Null);
    let mut imported = import::config_json(&Value::Object(config).to_string())?;
    imported.not_counted.append(&mut not_counted);
    imported.not_counted.sort();
    imported.left_out.append(&mut left_out);
    Ok(imported)
}

/// The keys of experts, and those of them that are not understood.
fn experts(value: &Value, config: &mut Map<String, Value>, not_counted: &mut Vec<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match OF_EXPERTS.iter().find(|(own, _)| own == key) {
            Some((_, name)) => _ = config.insert((*name).to_owned(), value.clone()),
            None => not_counted.push(format!("moe.{key}")),
        }
    }
}
