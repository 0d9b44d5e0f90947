//! torchtitan's lines (`torchtitan/components/metrics.py`): memory is what PyTorch reserved at
//! most, in units of 2³⁰ bytes, and `tps` counts the tokens of one GPU that is no copy along
//! tensor, pipeline or context parallelism.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "torchtitan",
    label: "torchtitan",
    trains: true,
    place: 4,
    lines: &[
        LineSpec::gib("tps: ", "memory: ", LogFigure::Reserved),
        LineSpec::count("memory: ", "tps: ", LogFigure::TokensPerSecond),
        LineSpec::gib("capacity: ", " with ", LogFigure::Capacity),
    ],
};
