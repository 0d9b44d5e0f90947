//! Known models.

use std::borrow::Cow;

use crate::config::{
    HiddenAct, Hybrid, LayerSet, Mixer, MixerKind, Mla, MlpKind, ModelConfig, Moe, Normalization, PositionEmbedding,
};
use crate::models::named;

/// One published model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// Short stable name of letters, digits, `-` and `.`; links carry it.
    pub id: &'static str,
    /// Name shown to people.
    pub name: &'static str,
    /// Models listed together.
    pub family: &'static str,
    /// Other names that find this row, such as the Hugging Face repository.
    pub aliases: &'static [&'static str],
    /// The architecture.
    pub config: ModelConfig,
    /// The keys that its file states, by their names and behind the file's kind: `llama hidden_size=4096`. Empty for a shape that no
    /// family reads.
    pub file: &'static str,
    /// The exact count of parameters that was published, if any.
    pub published_parameters: Option<u64>,
    /// Whether the row was checked against a source that was read.
    pub verified: bool,
}

#[allow(clippy::unreadable_literal, reason = "written by the build script")]
static MODELS: &[ModelRow] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// All known models, in the order they are listed.
pub fn models() -> &'static [ModelRow] {
    MODELS
}

/// The model with that id or other name, in any case.
///
/// ```
/// let llama = headroom::catalog::model("meta-llama/meta-llama-3-70b").expect("a known model");
/// assert_eq!(llama.id, "llama3-70b");
/// assert_eq!(llama.config.num_key_value_heads, 8);
/// ```
pub fn model(id_or_alias: &str) -> Option<&'static ModelRow> {
    models().iter().find(|row| super::answers_to(row.id, row.aliases, id_or_alias))
}
