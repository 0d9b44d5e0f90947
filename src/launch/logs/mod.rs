//! Figures that servers print at their start: read as amounts with their lines, and compared with
//! an estimate.
//!
//! A program is one file with a table of its lines; nothing else names it.

mod beside;
mod line;
mod programs;

pub use beside::{Compared, beside};
pub use line::LineSpec;

use crate::units::Bytes;

/// The lines of one program.
#[derive(Debug)]
pub struct LogSpec {
    /// The key of the engine that prints them.
    pub engine: &'static str,
    /// Its place in lists, counted from 0; no two programs have the same.
    pub place: usize,
    /// Its lines that hold figures.
    pub lines: &'static [LineSpec],
}

/// The subject of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Weights on one GPU.
    Weights,
    /// Memory for keys and values on one GPU.
    Cache,
    /// Tokens that fit into the cache.
    CacheTokens,
    /// Blocks of the cache.
    CacheBlocks,
    /// Sequences of the whole context that fit at one time.
    Concurrency,
    /// The context length, in tokens, that the concurrency is stated for.
    Context,
    /// Captured graphs.
    Graphs,
    /// Working memory of a step, without weights and cache.
    Working,
    /// Memory outside PyTorch: context, communicators.
    OutsidePyTorch,
    /// The memory of a GPU that the program may use.
    Budget,
    /// Memory of the GPU.
    Capacity,
    /// Free memory at the end of that line's step.
    Free,
}

impl Figure {
    /// Returns its words in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Cache => "memory for the cache",
            Self::CacheTokens => "tokens in the cache",
            Self::CacheBlocks => "blocks of the cache",
            Self::Concurrency => "sequences of the whole context",
            Self::Context => "context",
            Self::Graphs => "captured graphs",
            Self::Working => "working memory",
            Self::OutsidePyTorch => "outside PyTorch",
            Self::Budget => "what the program may use",
            Self::Capacity => "memory of the GPU",
            Self::Free => "free memory",
        }
    }
}

/// An amount as a program prints it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Memory.
    Bytes(Bytes),
    /// Tokens, blocks, sequences.
    Count(f64),
}

/// A figure that a log holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// Its subject.
    pub figure: Figure,
    /// The amount.
    pub amount: Amount,
    /// The GPU that the line names, such as `CUDA0` or `TP3`; empty where it names none.
    pub device: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// The figures of one start of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The key of the engine.
    pub engine: &'static str,
    /// The figures, in the order of the lines.
    pub printed: Vec<Printed>,
}

/// The longest line that is read, bytes; longer ones are skipped.
const LONGEST_LINE: usize = 4_000;

/// Reads the figures of a server's log, bytes or counts with their lines: those of the program that
/// has most of them. `None` where no program has any.
///
/// ```
/// use headroom::launch::logs::{Figure, read};
/// let text = "INFO 11-06 10:51:48 [kv_cache_utils.py:1229] GPU KV cache size: 75,840 tokens";
/// let log = read(text).expect("a log");
/// assert_eq!((log.engine, log.printed[0].figure), ("vllm", Figure::CacheTokens));
/// ```
pub fn read(text: &str) -> Option<Log> {
    if text.len() > super::MAX_BYTES {
        return None;
    }
    let figures = |spec: &'static LogSpec| {
        let lines = text.lines().enumerate().filter(|(_, line)| line.len() <= LONGEST_LINE);
        let printed: Vec<Printed> = lines.flat_map(|(at, line)| line::figures(spec.lines, line, at + 1)).collect();
        Log { engine: spec.engine, printed }
    };
    programs::SPECS.into_iter().map(figures).max_by_key(|log| log.printed.len()).filter(|log| !log.printed.is_empty())
}

impl Log {
    /// Returns the amounts of a figure, in the order of the lines.
    pub fn of(&self, figure: Figure) -> impl Iterator<Item = &Printed> {
        self.printed.iter().filter(move |printed| printed.figure == figure)
    }

    /// Returns the largest amount of a figure over the GPUs, bytes or a count; `None` where the log
    /// does not print it.
    pub fn largest(&self, figure: Figure) -> Option<f64> {
        self.of(figure).map(|printed| printed.amount.number()).reduce(f64::max)
    }

    /// Returns the smallest amount of a figure over the GPUs, bytes or a count; `None` where the
    /// log does not print it.
    pub fn smallest(&self, figure: Figure) -> Option<f64> {
        self.of(figure).map(|printed| printed.amount.number()).reduce(f64::min)
    }
}

impl Amount {
    /// Returns the amount as a number: bytes, or a count.
    pub fn number(self) -> f64 {
        match self {
            Self::Bytes(bytes) => bytes.as_f64(),
            Self::Count(count) => count,
        }
    }
}
