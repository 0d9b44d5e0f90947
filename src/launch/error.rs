//! Reasons why a command or file cannot be read.

use super::Place;

/// The reason why a text cannot be read, as one sentence with a way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The text is too long.
    #[error("The text is longer than 1 MB: paste the command or file alone, without its log.")]
    TooLong,
    /// No format knows the text.
    #[error(
        "This is no command or file of a tool that is known here: begin with the program, for \
         example `vllm serve`, `torchrun … pretrain_gpt.py`, `swift sft` or `trl sft`, or paste a \
         whole YAML, TOML or JSON file."
    )]
    NoFormat,
    /// The model's file beside the text cannot be read.
    #[error("The config.json beside the command: {why}")]
    Model {
        /// The reason, a sentence.
        why: String,
    },
    /// The notation is broken.
    #[error("Line {}, column {}: {why}.", place.line, place.column)]
    Notation {
        /// The place of the first problem.
        place: Place,
        /// The problem, without a full stop.
        why: String,
    },
    /// A flag has a value that it does not take.
    #[error("Line {}, column {}: `{flag}` {why}.", place.line, place.column)]
    Value {
        /// The flag as the text writes it.
        flag: String,
        /// Its place.
        place: Place,
        /// The problem as the rest of the sentence, without a full stop.
        why: String,
    },
}
