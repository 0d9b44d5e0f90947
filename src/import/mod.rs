//! Hugging Face `config.json` to an architecture, with a report of what was read, derived, assumed or ignored.

use thiserror::Error;

use crate::config::ModelConfig;

/// How one value of the architecture came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Stated in the file.
    Read,
    /// Follows from other values of the file.
    Derived,
    /// Not in the file: the library's default for that kind of model.
    Assumed,
    /// In the file, without effect on memory or time here.
    Ignored,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// The key, as the file or this program calls it.
    pub key: String,
    /// The value used.
    pub value: String,
    /// Where it came from.
    pub how: How,
    /// A sentence more, or nothing.
    pub note: String,
}

/// An architecture read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The architecture.
    pub config: ModelConfig,
    /// The file's `model_type`.
    pub model_type: String,
    /// The model's name, if the file says one.
    pub name: Option<String>,
    /// What was read, derived, assumed and ignored.
    pub report: Vec<ReportRow>,
}

/// Why a file cannot be used; each is one sentence with a way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Nothing was pasted.
    #[error("there is nothing here yet: paste the whole text of a config.json")]
    Empty,
}

/// Reads the text of a Hugging Face `config.json`.
///
/// # Errors
/// [`ImportError`] with a sentence for the person who pasted.
pub fn config_json(_text: &str) -> Result<Imported, ImportError> {
    Err(ImportError::Empty)
}
