//! Known models.

use std::borrow::Cow;

use crate::config::{
    CachePart, CachePartKind, CacheParts, Compressed, CompressedLayer, CompressedLayers,
    Compresses, Encoder, HiddenAct, Hybrid, Indexer, LayerSet, Mixer, MixerKind, Mla, MlpKind,
    ModelConfig, Moe, Normalization, OtherHeads, PositionEmbedding, SourceEncoder, Tower,
    TowerSizes, WeightFormat,
};
use crate::models::{named, projector, tower};

/// One published model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// Short stable name of letters, digits, `-` and `.`; links carry it.
    pub id: &'static str,
    /// Name shown to people.
    pub name: &'static str,
    /// Models listed together.
    pub family: &'static str,
    /// The architecture.
    pub config: ModelConfig,
    /// The format in which its weights are published, where its file states one; the model is
    /// served in this format unless another is chosen.
    pub weights: Option<WeightFormat>,
    /// True if a family reads the row's file; its keys are then listed beside the rows.
    pub has_keys: bool,
    /// The exact count of parameters that was published, if any.
    pub published_parameters: Option<u64>,
    /// True if the row was checked against a source that was read.
    pub verified: bool,
}

#[allow(clippy::unreadable_literal, reason = "written by the build script")]
static MODELS: &[ModelRow] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// The keys of rows with a file that a family reads. They are in a table of their own, because the
/// page shows rows before it reads any key.
static KEYS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/keys.rs"));

/// The keys that a row's file states, by their names, behind the kind of the file:
/// `llama hidden_size=4096`.
pub(crate) fn keys_of(id: &str) -> Option<&'static str> {
    KEYS.iter().find(|(row, _)| *row == id).map(|(_, keys)| *keys)
}

/// Other names that find a row, such as the Hugging Face repository. They are in a table of their
/// own, because the page shows rows before anybody types.
static ALIASES: super::Aliases = include!(concat!(env!("OUT_DIR"), "/model_aliases.rs"));

impl ModelRow {
    /// Returns other names that find this row, such as the Hugging Face repository.
    pub fn aliases(&self) -> &'static [&'static str] {
        super::aliases_of(ALIASES, self.id)
    }
}

/// Returns all known models, in the order they are listed.
pub fn models() -> &'static [ModelRow] {
    MODELS
}

/// Returns the model with that id or other name, in any case; `None` where no row has it.
///
/// ```
/// let llama = headroom::catalog::model("meta-llama/meta-llama-3-70b").expect("a known model");
/// assert_eq!(llama.id, "llama3-70b");
/// assert_eq!(llama.config.num_key_value_heads, 8);
/// ```
pub fn model(id_or_alias: &str) -> Option<&'static ModelRow> {
    model_of_id(super::id_of(ALIASES, id_or_alias)?)
}

/// The model with exactly that id.
pub(crate) fn model_of_id(id: &str) -> Option<&'static ModelRow> {
    models().iter().find(|row| row.id == id)
}
