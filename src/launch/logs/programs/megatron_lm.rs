//! Megatron-LM's lines: `report_memory` of `megatron/training/utils.py`, which the first rank of
//! every model-parallel group prints once, `report_theoretical_memory`, and the time of an
//! iteration. What it calls MB is 2²⁰ bytes.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "megatron-lm",
    label: "Megatron-LM",
    trains: true,
    place: 3,
    lines: &[
        LineSpec::mib("memory (MB)", "max allocated: ", LogFigure::Allocated),
        LineSpec::mib("memory (MB)", "max reserved: ", LogFigure::Reserved),
        LineSpec::mib("Theoretical memory footprints", "weight and optimizer=", LogFigure::States),
        LineSpec::mib("Theoretical memory footprints", "activation=", LogFigure::Activations),
        LineSpec::milliseconds("", "elapsed time per iteration (ms): ", LogFigure::StepSeconds),
    ],
};
