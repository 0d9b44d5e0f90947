//! Why files of a model cannot be used.

use thiserror::Error;

use crate::import::ImportError;

/// Why files of a model cannot be used: a sentence or two for the person who chose them, with a way
/// out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// None of the files is one of a model.
    #[error(
        "None of these files says what the model is: choose its config.json, params.json or .gguf \
         file."
    )]
    NoModel,
    /// Tensors without names of layers.
    #[error(
        "{said} What they make is not in these files: choose the model's config.json or \
         params.json as well."
    )]
    OnlySizes {
        /// The stored tensors in one sentence.
        said: String,
    },
    /// The file contradicts its own format.
    #[error("{file} cannot be read: {what}. Choose the file again, or the model's config.json.")]
    Broken {
        /// The file's name.
        file: String,
        /// The part that is wrong.
        what: String,
    },
    /// A GGUF file whose architecture has no place in the table.
    #[error(
        "This GGUF file is of the architecture \"{name}\", whose keys are not known here. Choose \
         the config.json of the model that it was made from."
    )]
    Architecture {
        /// The word under `general.architecture`.
        name: String,
    },
    /// The keys do not make a model that is known.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl CheckpointError {
    pub(super) fn broken(file: &str, what: String) -> Self {
        Self::Broken { file: file.to_owned(), what }
    }
}
