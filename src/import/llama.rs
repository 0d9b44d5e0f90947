//! Llama and its relatives: RMS norms, gated feed-forward, rotary positions.

use super::reader::{MAX_LAYERS, MAX_POSITIONS, MAX_SIZE, Reader, head_dim_of};
use super::refuse;
use super::value::Value;
use super::{How, ImportError};
use crate::config::{MlpKind, ModelConfig, Normalization, PositionEmbedding};

/// What the transformers library does for one kind where the file says nothing.
pub(super) struct Kind {
    /// Key/value heads; `None` means as many as query heads.
    kv_heads: Option<u64>,
    /// Width of a head; `None` means the hidden size shared out.
    head_dim: Option<u64>,
    /// Longest sequence.
    max_positions: u64,
    /// Whether the head reuses the embedding.
    tied: bool,
    /// Where biases of the attention come from.
    biases: Biases,
    /// Norms over each query and key head.
    qk_norm: bool,
    /// Whether `mlp_bias` is a key of this kind.
    mlp_bias_key: bool,
}

/// Where biases of the attention come from.
enum Biases {
    /// `attention_bias` covers queries, keys, values and the output.
    Key,
    /// Queries, keys and values have one, the output has none.
    QueryKeyValue,
    /// None.
    None,
}

impl Kind {
    /// The defaults of that `model_type`, if it is one of this family.
    pub(super) fn of(model_type: &str) -> Option<Self> {
        let llama = Self {
            kv_heads: None,
            head_dim: None,
            max_positions: 2048,
            tied: false,
            biases: Biases::Key,
            qk_norm: false,
            mlp_bias_key: true,
        };
        let kind = match model_type {
            "llama" | "granite" => llama,
            "mistral" => Self { kv_heads: Some(8), max_positions: 131_072, biases: Biases::None, mlp_bias_key: false, ..llama },
            "qwen2" => {
                Self { kv_heads: Some(32), max_positions: 32_768, biases: Biases::QueryKeyValue, mlp_bias_key: false, ..llama }
            }
            "qwen3" => Self {
                kv_heads: Some(32),
                head_dim: Some(128),
                max_positions: 32_768,
                qk_norm: true,
                mlp_bias_key: false,
                ..llama
            },
            "phi3" => Self { max_positions: 4096, biases: Biases::None, mlp_bias_key: false, ..llama },
            "gemma" => {
                Self { kv_heads: Some(16), head_dim: Some(256), max_positions: 8192, tied: true, mlp_bias_key: false, ..llama }
            }
            _ => return None,
        };
        Some(kind)
    }
}

/// Reads a file of this family.
pub(super) fn llama_like(file: &mut Reader<'_>, kind: &Kind) -> Result<ModelConfig, ImportError> {
    let hidden_size = file.size(&["hidden_size"], MAX_SIZE)?;
    let num_hidden_layers = file.size(&["num_hidden_layers"], MAX_LAYERS)?;
    let num_attention_heads = file.size(&["num_attention_heads"], MAX_SIZE)?;
    let num_key_value_heads = key_value_heads(file, kind, num_attention_heads)?;
    let head_dim = match (file.optional(&["head_dim"], MAX_SIZE)?, kind.head_dim) {
        (Some(stated), _) => stated,
        (None, Some(default)) => {
            file.tell("head_dim", &default, How::Assumed, "The library's default.");
            default
        }
        (None, None) => {
            let derived = head_dim_of(hidden_size, num_attention_heads)?;
            file.tell("head_dim", &derived, How::Derived, "hidden_size / num_attention_heads.");
            derived
        }
    };
    let intermediate_size = file.size(&["intermediate_size"], MAX_SIZE)?;
    let vocab_size = file.size(&["vocab_size"], MAX_SIZE)?;
    let max_position_embeddings = file.size_or(&["max_position_embeddings"], MAX_POSITIONS, kind.max_positions)?;
    let tie_word_embeddings = file.tied(kind.tied)?;
    let (attention_bias, attention_output_bias) = match kind.biases {
        Biases::Key => file.flag("attention_bias", false).map(|bias| (bias, bias))?,
        Biases::QueryKeyValue => {
            file.implied("attention_bias", &true, "On queries, keys and values, not on the output.");
            (true, false)
        }
        Biases::None => (false, false),
    };
    let mlp_bias = if kind.mlp_bias_key { file.flag("mlp_bias", false)? } else { false };
    if kind.qk_norm {
        file.implied("qk_norm", &true, "This kind norms every query and key head.");
    }
    refuse::mixed_windows(file, num_hidden_layers)?;
    attention_window(file, max_position_embeddings)?;
    Ok(ModelConfig {
        hidden_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads,
        head_dim,
        intermediate_size,
        vocab_size,
        max_position_embeddings,
        position_rows: max_position_embeddings,
        normalization: Normalization::RmsNorm,
        mlp: MlpKind::Gated,
        position_embedding: PositionEmbedding::Rotary,
        attention_bias,
        attention_output_bias,
        mlp_bias,
        tie_word_embeddings,
        qk_norm: kind.qk_norm,
        embedding_norm: false,
        norms_per_block: 2,
        final_norm: true,
        ..ModelConfig::plain()
    })
}

/// Key/value heads. A key that is there but null means as many as query heads, whatever the default.
fn key_value_heads(file: &mut Reader<'_>, kind: &Kind, heads: u64) -> Result<u64, ImportError> {
    match kind.kv_heads {
        Some(default) if !file.has("num_key_value_heads") => {
            file.tell("num_key_value_heads", &default, How::Assumed, "The library's default.");
            Ok(default)
        }
        _ => file.size_or_derived(&["num_key_value_heads"], heads, "As many as query heads: multi-head attention."),
    }
}

/// A window that all layers share limits the cache, which the estimate does not follow; the sizes are exact all the same.
fn attention_window(file: &mut Reader<'_>, max_positions: u64) -> Result<(), ImportError> {
    let switched_off = matches!(file.peek("use_sliding_window"), Some(Value::Bool(false)));
    let Some(window) = file.peek("sliding_window").filter(|_| !switched_off) else {
        return Ok(());
    };
    let window = super::reader::whole("sliding_window", window, MAX_POSITIONS)?;
    if window < max_positions {
        file.done_with(&["sliding_window"]);
        let note = "Not followed: for texts longer than the window, key/value cache and attention are overstated.";
        file.tell("sliding_window", &window, How::Ignored, note);
    }
    Ok(())
}
