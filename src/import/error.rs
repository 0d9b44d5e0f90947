//! Why a `config.json` cannot be used.

use thiserror::Error;

use super::value::Value;

/// Why a file cannot be used. Every message is one sentence or two, for the person who pasted the
/// text, with a way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Nothing was pasted.
    #[error("There is nothing here yet: paste the whole text of a config.json.")]
    Empty,
    /// More text than any config.json has.
    #[error(
        "This text is {bytes} bytes long, more than any config.json; paste only the file config.json."
    )]
    TooLong {
        /// Length of the text.
        bytes: usize,
    },
    /// A web page instead of the file.
    #[error(
        "This is a web page, not a config.json: open the file's raw view and copy the text from its first {{ to its last }}."
    )]
    WebPage,
    /// An image, an archive or weights.
    #[error("This is no text but a picture, an archive or weights; choose the file config.json.")]
    Binary,
    /// The address of a model instead of its file.
    #[error("This is the address of a model, not its config.json: open {file} and paste its text.")]
    Address {
        /// Where the file's text is.
        file: String,
    },
    /// Not JSON, even with comments and trailing commas allowed.
    #[error(
        "This cannot be read as JSON ({problem}); copy the file again from its first {{ to its last }}."
    )]
    NotJson {
        /// The parser's message, with the place.
        problem: String,
    },
    /// JSON, but not `{ … }`.
    #[error("This is {found}, not a config.json: the file is one group of keys from {{ to }}.")]
    NotAnObject {
        /// Description of the text that was found instead.
        found: &'static str,
    },
    /// Neither `model_type` nor `architectures`.
    #[error(
        "The file does not say which kind of model it is: add \"model_type\", such as \"llama\" or \"gpt2\"."
    )]
    NoKind,
    /// A kind that is not listed; the caller may ask to count it as a generic decoder.
    #[error(
        "Not counted: the kind \"{model_type}\" is not known. It can be counted as a generic decoder all the same, or type the sizes \
         by hand under Architecture."
    )]
    UnknownKind {
        /// The file's `model_type`, or the class under `architectures`.
        model_type: String,
    },
    /// A known structure that the estimates do not cover.
    #[error(
        "This model has {what}, which is not modelled; type the sizes by hand under Architecture for a rough answer."
    )]
    NotModelled {
        /// The structure and the key that shows it.
        what: String,
    },
    /// A model of another task.
    #[error(
        "This model does not predict text ({shown_by}), and only models that do are counted here; type the sizes by hand under \
         Architecture for a rough answer."
    )]
    NotADecoder {
        /// The key that shows it, and its value.
        shown_by: String,
    },
    /// A size that the file must state.
    #[error(
        "The key \"{key}\" is missing; copy the whole file, or type the sizes by hand under Architecture."
    )]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A value of another type than the key has.
    #[error("\"{key}\" must be {wanted}, but is {found}; correct it in the text.")]
    WrongType {
        /// The key.
        key: String,
        /// The type of value that the key holds.
        wanted: &'static str,
        /// Description of the value that was found.
        found: String,
    },
    /// A size that no model has.
    #[error("\"{key}\" is {value}, but must be from 1 to {max}; correct it in the text.")]
    OutOfRange {
        /// The key.
        key: String,
        /// The value.
        value: u64,
        /// The largest size accepted.
        max: u64,
    },
    /// A list with another number of layers than the model has.
    #[error(
        "The file lists {listed} layers one by one, but has {layers} of them (num_hidden_layers); correct one in the text."
    )]
    Layers {
        /// Layers in the list.
        listed: u64,
        /// Layers of the model.
        layers: u64,
    },
    /// Two sizes that cannot go together.
    #[error(
        "\"{size}\" ({value}) must be a multiple of \"{part}\" ({parts}); correct one of them in the text."
    )]
    NotAMultiple {
        /// The larger size's key.
        size: &'static str,
        /// Its value.
        value: u64,
        /// The smaller size's key.
        part: &'static str,
        /// Its value.
        parts: u64,
    },
}

impl ImportError {
    /// A value of the wrong type.
    pub(super) fn wrong_type(key: &str, wanted: &'static str, found: &Value) -> Self {
        let found = match found {
            number @ Value::OtherNumber(_) => number.brief(),
            other => other.kind().to_owned(),
        };
        Self::WrongType { key: key.to_owned(), wanted, found }
    }

    /// The keys that it is about.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let [first, second] = match self {
            Self::Missing { key } => [Some(*key), None],
            Self::WrongType { key, .. } | Self::OutOfRange { key, .. } => {
                [Some(key.as_str()), None]
            }
            Self::Layers { .. } => [Some("layer_types"), Some("num_hidden_layers")],
            Self::NotAMultiple { size, part, .. } => [Some(*size), Some(*part)],
            _ => [None, None],
        };
        [first, second].into_iter().flatten()
    }

    /// The sentence without its way out, for keys that stand in a form rather than in a text that
    /// was pasted.
    pub(crate) fn without_way_out(&self) -> String {
        let whole = self.to_string();
        whole.rsplit_once(';').map_or_else(|| whole.clone(), |(problem, _)| format!("{problem}."))
    }

    /// A structure that is not modelled.
    pub(super) fn not_modelled(what: impl Into<String>) -> Self {
        Self::NotModelled { what: what.into() }
    }
}
