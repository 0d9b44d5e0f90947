//! DeepSpeed's `see_memory_usage` (`deepspeed/runtime/utils.py`): MA and CA are what tensors take
//! and what PyTorch keeps, in units of 2³⁰ bytes. `Max_CA` is rounded to whole units and left out.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "deepspeed",
    label: "DeepSpeed",
    trains: true,
    place: 5,
    lines: &[
        LineSpec::gib("Max_CA ", "Max_MA ", LogFigure::Allocated),
        LineSpec::gib("Max_CA ", "GB CA ", LogFigure::Reserved),
    ],
};
