//! Figures that servers print when they start, and trainings while they run, read as amounts with
//! their lines and set beside an estimate.
//!
//! A program is one file with a table of its lines; nothing else names it.

mod beside;
mod line;
mod programs;

pub use beside::{Compared, beside, beyond};
pub use line::{Adds, LineSpec, LogUnit};
/// Programs whose lines are read, in the order of lists.
pub use programs::SPECS as PROGRAMS;

use crate::units::Bytes;

/// The lines of one program.
#[derive(Debug)]
pub struct LogSpec {
    /// Its word in machine-readable answers; a server's is its engine's key.
    pub program: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// True if it trains, false if it serves.
    pub trains: bool,
    /// Its place in lists, counted from 0; no two programs have the same.
    pub place: usize,
    /// Its lines that hold figures.
    pub lines: &'static [LineSpec],
}

/// The subject of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogFigure {
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
    /// The most that tensors took: `torch.cuda.max_memory_allocated()`.
    Allocated,
    /// The most that PyTorch kept: `torch.cuda.max_memory_reserved()`.
    Reserved,
    /// Memory that the driver counts, as `nvidia-smi` shows it.
    InUse,
    /// Weights, gradients and optimizer states.
    States,
    /// Activations kept for backward.
    Activations,
    /// Seconds of a step.
    StepSeconds,
    /// Tokens per second of one GPU.
    TokensPerSecond,
    /// Sequences per second of all GPUs.
    SequencesPerSecond,
}

impl LogFigure {
    /// True if it is an amount of memory.
    pub const fn is_memory(self) -> bool {
        match self {
            Self::Weights
            | Self::Cache
            | Self::Graphs
            | Self::Working
            | Self::OutsidePyTorch
            | Self::Budget
            | Self::Capacity
            | Self::Free
            | Self::Allocated
            | Self::Reserved
            | Self::InUse
            | Self::States
            | Self::Activations => true,
            Self::CacheTokens
            | Self::CacheBlocks
            | Self::Concurrency
            | Self::Context
            | Self::StepSeconds
            | Self::TokensPerSecond
            | Self::SequencesPerSecond => false,
        }
    }

    /// True if it is a pace, of which the middle one counts: first steps are slow.
    pub const fn is_pace(self) -> bool {
        matches!(self, Self::StepSeconds | Self::TokensPerSecond | Self::SequencesPerSecond)
    }

    /// Its words in tables.
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
            Self::Allocated => "allocated at the peak",
            Self::Reserved => "reserved by PyTorch",
            Self::InUse => "in use",
            Self::States => "weights, gradients, optimizer",
            Self::Activations => "activations",
            Self::StepSeconds => "seconds of a step",
            Self::TokensPerSecond => "tokens per second of a GPU",
            Self::SequencesPerSecond => "sequences per second",
        }
    }
}

/// An amount as a program prints it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogAmount {
    /// Memory.
    Bytes(Bytes),
    /// Tokens, blocks, sequences, seconds.
    Count(f64),
}

/// A figure that a log holds.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// Its subject.
    pub figure: LogFigure,
    /// The amount.
    pub amount: LogAmount,
    /// The GPU that the line names, such as `CUDA0` or `TP3`; empty where it names none.
    pub device: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// The figures that one run of a program printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The program's word.
    pub program: &'static str,
    /// The program's name for people.
    pub label: &'static str,
    /// True if it trains, false if it serves.
    pub trains: bool,
    /// The figures, in the order of the lines.
    pub printed: Vec<LogLine>,
}

/// The longest line that is read, bytes; longer ones are skipped.
const LONGEST_LINE: usize = 4_000;

/// Reads the figures of a server's log, bytes or counts with their lines: those of the program that
/// has most of them. `None` where no program has any.
///
/// ```
/// use headroom::launch::logs::{LogFigure, read};
/// let log = read("INFO 11-06 10:51:48 [kv_cache_utils.py:1229] GPU KV cache size: 75,840 tokens").expect("a log");
/// assert_eq!((log.program, log.printed[0].figure), ("vllm", LogFigure::CacheTokens));
/// ```
pub fn read(text: &str) -> Option<Log> {
    if text.len() > super::MAX_BYTES {
        return None;
    }
    let figures = |spec: &'static LogSpec| {
        let lines = text.lines().enumerate().filter(|(_, line)| line.len() <= LONGEST_LINE);
        let printed =
            line::joined(lines.flat_map(|(at, line)| line::figures(spec.lines, line, at + 1)));
        Log { program: spec.program, label: spec.label, trains: spec.trains, printed }
    };
    programs::SPECS
        .into_iter()
        .map(figures)
        .max_by_key(|log| log.printed.len())
        .filter(|log| !log.printed.is_empty())
}

impl Log {
    /// Returns the amounts of a figure, in the order of the lines.
    pub fn of(&self, figure: LogFigure) -> impl Iterator<Item = &LogLine> {
        self.printed.iter().filter(move |printed| printed.figure == figure)
    }

    /// Returns the largest amount of a figure over the GPUs, bytes or a count; `None` where the log
    /// does not print it.
    pub fn largest(&self, figure: LogFigure) -> Option<f64> {
        self.of(figure).map(|printed| printed.amount.number()).reduce(f64::max)
    }

    /// Returns the smallest amount of a figure over the GPUs, bytes or a count; `None` where the
    /// log does not print it.
    pub fn smallest(&self, figure: LogFigure) -> Option<f64> {
        self.of(figure).map(|printed| printed.amount.number()).reduce(f64::min)
    }
}

impl LogAmount {
    /// Returns the amount as a number: bytes, or a count.
    pub fn number(self) -> f64 {
        match self {
            Self::Bytes(bytes) => bytes.as_f64(),
            Self::Count(count) => count,
        }
    }
}
