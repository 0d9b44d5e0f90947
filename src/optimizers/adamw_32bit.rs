//! AdamW as bitsandbytes has it (`optim/adamw.py` of 0.50), which Hugging Face's Trainer takes for
//! `paged_adamw_32bit`: both moments in fp32, whatever the weights are in, updated in one kernel.

use super::{OptimizerSpec, Served, StateFormat, StateSpec, StepTemporaries, adamw, lion};
use crate::sources;
use crate::units::DType;

/// Two moments. The number of steps is counted in the host's memory.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adamw32",
    name: "adamw_32bit",
    label: "AdamW, 32-bit (bitsandbytes)",
    help: "Two moments in fp32, whatever the weights are in.",
    place: 24,
    states: &[FIRST_MOMENT, SECOND_MOMENT],
    counts_steps: Served::Nothing,
    temporaries: StepTemporaries::none,
    is_measured: false,
    ..lion::OPTIMIZER
};

const FIRST_MOMENT: StateSpec = StateSpec {
    label: "First moment, fp32",
    format: StateFormat::Always(DType::Fp32),
    source: sources::ADAM_8BIT_2022,
    ..adamw::FIRST_MOMENT
};

const SECOND_MOMENT: StateSpec = StateSpec {
    label: "Second moment, fp32",
    note: "Running mean of the squared gradient, in fp32.",
    ..FIRST_MOMENT
};
