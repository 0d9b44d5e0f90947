//! Known models.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::config::{MlpKind, ModelConfig, Normalization, PositionEmbedding};

/// One published model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    /// Short stable name of letters, digits, `-` and `.`; links carry it.
    pub id: String,
    /// Name shown to people.
    pub name: String,
    /// Models listed together.
    pub family: String,
    /// Other names that find this row, such as the Hugging Face repository.
    pub aliases: Vec<String>,
    /// The architecture.
    #[serde(deserialize_with = "architecture")]
    pub config: ModelConfig,
    /// The exact count of parameters that was published, if any.
    pub published_parameters: Option<u64>,
    /// Whether the row was checked against a source that was read.
    pub verified: bool,
}

/// The architecture as written in the data file: the common shape of today's models need not be spelled out.
#[derive(Deserialize)]
#[serde(remote = "ModelConfig", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "mirrors ModelConfig field by field")]
struct Architecture {
    hidden_size: u64,
    num_hidden_layers: u64,
    num_attention_heads: u64,
    num_key_value_heads: u64,
    head_dim: u64,
    intermediate_size: u64,
    vocab_size: u64,
    max_position_embeddings: u64,
    #[serde(default)]
    position_rows: u64,
    #[serde(default)]
    normalization: Normalization,
    #[serde(default)]
    mlp: MlpKind,
    #[serde(default)]
    position_embedding: PositionEmbedding,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    attention_output_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    qk_norm: bool,
    #[serde(default)]
    embedding_norm: bool,
    #[serde(default = "two")]
    norms_per_block: u64,
    #[serde(default = "yes")]
    final_norm: bool,
}

const fn two() -> u64 {
    2
}

const fn yes() -> bool {
    true
}

/// Reads the architecture; a table of positions has a row per position unless the file says otherwise.
fn architecture<'de, D: serde::Deserializer<'de>>(source: D) -> Result<ModelConfig, D::Error> {
    let mut config = Architecture::deserialize(source)?;
    if config.position_rows == 0 {
        config.position_rows = config.max_position_embeddings;
    }
    Ok(config)
}

static MODELS: LazyLock<Vec<ModelRow>> =
    LazyLock::new(|| serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/models.json"))).unwrap_or_default());

/// All known models, in the order they are listed.
pub fn models() -> &'static [ModelRow] {
    &MODELS
}

/// The model with that id or other name, in any case.
///
/// ```
/// let llama = headroom::catalog::model("meta-llama/meta-llama-3-70b").expect("a known model");
/// assert_eq!(llama.id, "llama3-70b");
/// assert_eq!(llama.config.num_key_value_heads, 8);
/// ```
pub fn model(id_or_alias: &str) -> Option<&'static ModelRow> {
    models().iter().find(|row| super::answers_to(&row.id, &row.aliases, id_or_alias))
}
