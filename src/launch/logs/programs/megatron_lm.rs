//! Megatron-LM's lines: `report_memory` of `megatron/training/utils.py`, which the first rank of
//! every model-parallel group prints once, `report_theoretical_memory`, and the time of an
//! iteration. What it calls MB is 2²⁰ bytes.

use crate::launch::logs::{Figure, LineSpec, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "megatron-lm",
    label: "Megatron-LM",
    trains: true,
    place: 3,
    lines: &[
        LineSpec::mib("memory (MB)", "max allocated: ", Figure::Allocated),
        LineSpec::mib("memory (MB)", "max reserved: ", Figure::Reserved),
        LineSpec::mib("Theoretical memory footprints", "weight and optimizer=", Figure::States),
        LineSpec::mib("Theoretical memory footprints", "activation=", Figure::Activations),
        LineSpec::milliseconds("", "elapsed time per iteration (ms): ", Figure::StepSeconds),
    ],
};
