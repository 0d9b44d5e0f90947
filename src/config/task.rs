//! Classes of models that predict no text: encoders and decoders with a head for another task, or
//! without one.

use serde::{Deserialize, Serialize};

/// The task of a model that predicts no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// No task: the states themselves are wanted, as of a model that embeds texts.
    States,
    /// A class for each text.
    Sequence,
    /// A class for each token.
    Token,
    /// Where an answer begins and ends.
    Span,
}

impl TaskKind {
    /// All tasks with their words in links.
    const WORDS: [(Self, &str); 4] = [
        (Self::States, "states"),
        (Self::Sequence, "sequence"),
        (Self::Token, "token"),
        (Self::Span, "span"),
    ];

    /// Returns its word in links.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| *word)
    }

    /// Returns the task of that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, own)| *own == word).map(|(kind, _)| *kind)
    }
}

/// A task with the number of its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The task itself.
    pub kind: TaskKind,
    /// Numbers that the head gives, for each text or for each token.
    pub labels: u64,
}

/// The layers of an encoder's classes for tasks other than masked text; a decoder's have one
/// matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskHeads {
    /// The model without a task has a dense layer over its first token (`pooler`).
    pub pools_states: bool,
    /// The layer before the matrix of classes of a text.
    pub sequence: BeforeClasses,
    /// The layer before the matrix of classes of tokens and of spans.
    pub token: BeforeClasses,
}

/// The layer before a matrix of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeClasses {
    /// Nothing.
    Nothing,
    /// A dense layer with a bias and that function, over the first token.
    Dense(DenseFunction),
    /// The layer before the output head.
    Transform,
    /// The library has no such class, or one whose layers are not described.
    Unknown,
}

/// The function behind a dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenseFunction {
    /// `tanh`.
    Tanh,
    /// `gelu`.
    Gelu,
    /// `relu`.
    Relu,
}

impl TaskHeads {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        pools_states: false,
        sequence: BeforeClasses::Unknown,
        token: BeforeClasses::Unknown,
    };

    /// Returns a dense layer with that function for whole texts.
    pub const fn dense(function: DenseFunction) -> Self {
        Self {
            pools_states: false,
            sequence: BeforeClasses::Dense(function),
            token: BeforeClasses::Nothing,
        }
    }

    /// A dense layer with a `tanh` for whole texts, which the model without a task has, too.
    pub const POOLING: Self = Self { pools_states: true, ..Self::dense(DenseFunction::Tanh) };

    /// The layer before the output head for all tasks.
    pub const TRANSFORM: Self = Self {
        pools_states: false,
        sequence: BeforeClasses::Transform,
        token: BeforeClasses::Transform,
    };

    /// Returns the layer before the matrix of that task.
    pub const fn before(self, kind: TaskKind) -> BeforeClasses {
        match kind {
            TaskKind::States if self.pools_states => BeforeClasses::Dense(DenseFunction::Tanh),
            TaskKind::States => match self.token {
                BeforeClasses::Unknown => BeforeClasses::Unknown,
                BeforeClasses::Nothing | BeforeClasses::Dense(_) | BeforeClasses::Transform => {
                    BeforeClasses::Nothing
                }
            },
            TaskKind::Sequence => self.sequence,
            TaskKind::Token | TaskKind::Span => self.token,
        }
    }
}
