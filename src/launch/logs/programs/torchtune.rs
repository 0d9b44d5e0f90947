//! torchtune's lines (`torchtune/training/memory.py`), in units of 2³⁰ bytes.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "torchtune",
    label: "torchtune",
    trains: true,
    place: 6,
    lines: &[
        LineSpec::gib("", "peak_memory_alloc:", LogFigure::Allocated),
        LineSpec::gib("", "peak_memory_reserved:", LogFigure::Reserved),
        LineSpec::count("", "tokens_per_second_per_gpu:", LogFigure::TokensPerSecond),
    ],
};
