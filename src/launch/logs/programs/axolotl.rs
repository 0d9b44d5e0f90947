//! axolotl's lines (`axolotl/utils/bench.py`): figures of PyTorch beside the loss, and memory after
//! a step, which first is what tensors take, then with what PyTorch keeps, then with the rest of
//! what the driver counts. Until 2023 the last stood alone, in MB.

use crate::launch::logs::{Figure, LineSpec, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "axolotl",
    label: "axolotl",
    trains: true,
    place: 7,
    lines: &[
        LineSpec::gib("", "'memory/max_memory_allocated': ", Figure::Allocated),
        LineSpec::gib("", "'memory/device_memory_reserved': ", Figure::Reserved),
        LineSpec::gib("", "'memory/max_mem_allocated(gib)': ", Figure::Allocated),
        LineSpec::gib("", "'memory/device_mem_reserved(gib)': ", Figure::Reserved),
        LineSpec::gib("", "'memory/max_allocated (GiB)': ", Figure::Allocated),
        LineSpec::gib("", "'memory/device_reserved (GiB)': ", Figure::Reserved),
        LineSpec::gib("GB cache", "memory usage while training: ", Figure::Reserved),
        LineSpec::gib("GB cache", "GB (+", Figure::Reserved).adding(),
        LineSpec::gib("GB misc", "memory usage while training: ", Figure::InUse),
        LineSpec::gib("GB misc", "GB (+", Figure::InUse).adding(),
        LineSpec::gib("GB misc", "GB cache, +", Figure::InUse).adding(),
        LineSpec::mib("", "GPU memory while training: ", Figure::InUse),
    ],
};
