//! AdamW with moments of one byte (bitsandbytes, `optim/adamw.py`).

use super::{
    OptimizerSpec, Replacement, Served, StateFormat, StateSpec, StateValues, StepTemporaries, adamw,
};
use crate::sources;
use crate::units::DType;

/// Elements that share one scale.
pub(super) const BLOCK: u64 = 256;

/// Two moments of one byte, with one fp32 scale per block.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adamw8",
    name: "adamw_8bit",
    label: "AdamW, 8-bit",
    help: "Two moments of one byte: about 2 bytes per parameter.",
    place: 20,
    is_default: false,
    states: &[FIRST_MOMENT, SECOND_MOMENT, SCALES],
    counts_steps: Served::Nothing,
    temporaries: StepTemporaries::none,
    is_measured: false,
    work: None,
    conflicts: &[],
    replaces: Some(Replacement { of: adamw::OPTIMIZER.key, title: "8-bit AdamW" }),
};

pub(super) const FIRST_MOMENT: StateSpec = StateSpec {
    label: "First moment, 8 bit",
    note: "Running mean in one byte, scaled block by block.",
    serves: Served::All,
    values: StateValues::EveryElement,
    format: StateFormat::Always(DType::Int8),
    source: sources::ADAM_8BIT_2022,
};

pub(super) const SECOND_MOMENT: StateSpec = StateSpec {
    label: "Second moment, 8 bit",
    note: "Running mean of squares in one byte, scaled block by block.",
    ..FIRST_MOMENT
};

pub(super) const SCALES: StateSpec = StateSpec {
    label: "Scales of both moments",
    note: "One fp32 scale per 256 values.",
    values: StateValues::OfElements(|elements| elements.div_ceil(BLOCK).saturating_mul(2)),
    format: StateFormat::Always(DType::Fp32),
    ..FIRST_MOMENT
};
