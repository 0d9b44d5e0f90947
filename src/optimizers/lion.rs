//! Lion as bitsandbytes has it (`optim/lion.py` of 0.50), which Hugging Face's Trainer takes for
//! `lion_32bit`: one momentum in fp32, updated in one kernel.

use super::{
    ConflictingTool, OptimizerConflict, OptimizerSpec, Served, StateFormat, StateSpec, StateValues,
    StepTemporaries,
};
use crate::sources;
use crate::units::DType;

/// One momentum.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "lion",
    name: "lion",
    label: "Lion",
    help: "One momentum in fp32.",
    place: 70,
    is_default: false,
    states: &[MOMENTUM],
    counts_steps: Served::Nothing,
    temporaries: StepTemporaries::none,
    is_measured: false,
    work: None,
    conflicts: &[OptimizerConflict {
        with: ConflictingTool::OwnTrainingLoop,
        says: "Megatron-LM has a training loop of its own; use another optimizer, or the software \
            stack Hugging Face",
        source: sources::MEGATRON_CORE,
    }],
    replaces: None,
};

const MOMENTUM: StateSpec = StateSpec {
    label: "Momentum, fp32",
    note: "Running mean of the gradient, in fp32.",
    serves: Served::All,
    values: StateValues::EveryElement,
    format: StateFormat::Always(DType::Fp32),
    source: sources::ADAM_8BIT_2022,
};
