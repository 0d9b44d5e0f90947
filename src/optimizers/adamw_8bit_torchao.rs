//! AdamW with moments of one byte as torchao has it (`optim/adam.py` and `optim/subclass_8bit.py`
//! of 0.18), with the blocks of 256 values that Hugging Face's Trainer asks for
//! (`_get_torchao_optimizer` of transformers 5.23).
//!
//! A tensor of fewer than 4,096 elements, or of a number that is no multiple of the block, keeps
//! moments in its own format. The step of a parameter is compiled: PyTorch 2.15 makes it kernels
//! that take nothing beside states.

use super::{
    ConflictingTool, OptimizerConflict, OptimizerSpec, Served, StateFormat, StateSpec, StateValues,
    StepTemporaries, UpdatedParameter, adamw_8bit,
};
use crate::sources;

/// Elements that share one scale.
pub(super) const BLOCK: u64 = 256;

/// Elements from which on states take fewer bits.
const LEAST: u64 = 4096;

/// Two moments of one byte, with the values that bytes stand for beside each.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adamw8ao",
    name: "adamw_8bit_torchao",
    label: "AdamW, 8-bit (torchao)",
    help: "Two moments of one byte, also of embeddings.",
    place: 22,
    states: &[FIRST_MOMENT, SECOND_MOMENT, SCALES, CODES, FIRST_WIDE, SECOND_WIDE],
    temporaries: StepTemporaries::none,
    conflicts: CONFLICTS,
    replaces: None,
    ..adamw_8bit::OPTIMIZER
};

pub(super) const CONFLICTS: &[OptimizerConflict] = &[
    conflict(
        ConflictingTool::OwnTrainingLoop,
        "Megatron-LM has a training loop of its own; use another optimizer, or the software stack \
         Hugging Face",
    ),
    conflict(
        ConflictingTool::OffloadedStates,
        "The step of torchao's AdamW in host memory is not modelled; keep its states on the GPU",
    ),
    conflict(
        ConflictingTool::PagedStates,
        "torchao has no paged states; use bitsandbytes' AdamW, or none in pages",
    ),
];

const fn conflict(with: ConflictingTool, says: &'static str) -> OptimizerConflict {
    OptimizerConflict { with, says, source: sources::TORCHAO_OPTIM }
}

pub(super) fn in_few_bits(parameter: &UpdatedParameter) -> bool {
    parameter.elements >= LEAST && parameter.elements.is_multiple_of(BLOCK)
}

pub(super) fn as_it_is(parameter: &UpdatedParameter) -> bool {
    !in_few_bits(parameter)
}

const FIRST_MOMENT: StateSpec = StateSpec {
    serves: Served::Those(in_few_bits),
    source: sources::TORCHAO_OPTIM,
    ..adamw_8bit::FIRST_MOMENT
};

const SECOND_MOMENT: StateSpec = StateSpec {
    serves: Served::Those(in_few_bits),
    source: sources::TORCHAO_OPTIM,
    ..adamw_8bit::SECOND_MOMENT
};

pub(super) const SCALES: StateSpec = StateSpec {
    serves: Served::Those(in_few_bits),
    source: sources::TORCHAO_OPTIM,
    ..adamw_8bit::SCALES
};

/// The values of all 256 codes, for each moment of each tensor.
const CODES: StateSpec = StateSpec {
    label: "Values of codes",
    note: "What each code stands for, in fp32.",
    values: StateValues::OfShape(|_| 2 * 256),
    ..SCALES
};

pub(super) const FIRST_WIDE: StateSpec = StateSpec {
    label: "First moment of small tensors",
    note: "Running mean in the parameter's format.",
    serves: Served::Those(as_it_is),
    format: StateFormat::Recipe,
    ..FIRST_MOMENT
};

pub(super) const SECOND_WIDE: StateSpec = StateSpec {
    label: "Second moment of small tensors",
    note: "Running mean of squares in the parameter's format.",
    ..FIRST_WIDE
};
