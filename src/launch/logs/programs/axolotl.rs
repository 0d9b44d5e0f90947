//! axolotl's lines (`axolotl/utils/bench.py`): figures of PyTorch beside the loss, and memory after
//! a step, which first is what tensors take, then with what PyTorch keeps, then with the rest of
//! what the driver counts. Until 2023 the last stood alone, in MB.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "axolotl",
    label: "axolotl",
    trains: true,
    place: 7,
    lines: &[
        LineSpec::gib("", "'memory/max_memory_allocated': ", LogFigure::Allocated),
        LineSpec::gib("", "'memory/device_memory_reserved': ", LogFigure::Reserved),
        LineSpec::gib("", "'memory/max_mem_allocated(gib)': ", LogFigure::Allocated),
        LineSpec::gib("", "'memory/device_mem_reserved(gib)': ", LogFigure::Reserved),
        LineSpec::gib("", "'memory/max_allocated (GiB)': ", LogFigure::Allocated),
        LineSpec::gib("", "'memory/device_reserved (GiB)': ", LogFigure::Reserved),
        LineSpec::gib("GB cache", "memory usage while training: ", LogFigure::Reserved),
        LineSpec::gib("GB cache", "GB (+", LogFigure::Reserved).adding(),
        LineSpec::gib("GB misc", "memory usage while training: ", LogFigure::InUse),
        LineSpec::gib("GB misc", "GB (+", LogFigure::InUse).adding(),
        LineSpec::gib("GB misc", "GB cache, +", LogFigure::InUse).adding(),
        LineSpec::mib("", "GPU memory while training: ", LogFigure::InUse),
    ],
};
