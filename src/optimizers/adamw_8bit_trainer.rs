//! AdamW with moments of one byte as Hugging Face's Trainer sets bitsandbytes up.
//!
//! The Trainer registers every `nn.Embedding` with bitsandbytes' `GlobalOptimManager` for states of
//! 32 bits (`create_optimizer` in transformers 5.23, `trainer.py`), a head that is tied to one
//! included; bitsandbytes 0.50 itself keeps those of tensors of fewer than 4,096 elements so
//! (`min_8bit_size`, `optim/optimizer.py`).

use super::{
    ConflictingTool, OptimizerConflict, OptimizerSpec, Served, StateFormat, StateSpec,
    UpdatedParameter, adamw_8bit,
};
use crate::sources;
use crate::units::DType;

/// Elements from which on states take one byte.
const MIN_8BIT_SIZE: u64 = 4096;

/// As bitsandbytes' AdamW, but for embeddings and small tensors.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adamw8t",
    name: "adamw_8bit_trainer",
    label: "AdamW, 8-bit (Trainer)",
    help: "Two moments of one byte, as Hugging Face's Trainer sets them up: those of embeddings \
        and of small tensors stay in fp32.",
    place: 21,
    states: &[FIRST_MOMENT, SECOND_MOMENT, SCALES, FIRST_WIDE, SECOND_WIDE],
    conflicts: &[OptimizerConflict {
        with: ConflictingTool::OwnTrainingLoop,
        says: "Megatron-LM has a training loop of its own; use another optimizer, or the software \
            stack Hugging Face",
        source: sources::MEGATRON_CORE,
    }],
    replaces: None,
    ..adamw_8bit::OPTIMIZER
};

pub(super) fn in_one_byte(parameter: &UpdatedParameter) -> bool {
    !parameter.is_embedding && parameter.elements >= MIN_8BIT_SIZE
}

pub(super) fn in_fp32(parameter: &UpdatedParameter) -> bool {
    !in_one_byte(parameter)
}

const FIRST_MOMENT: StateSpec =
    StateSpec { serves: Served::Those(in_one_byte), ..adamw_8bit::FIRST_MOMENT };

const SECOND_MOMENT: StateSpec =
    StateSpec { serves: Served::Those(in_one_byte), ..adamw_8bit::SECOND_MOMENT };

const SCALES: StateSpec = StateSpec { serves: Served::Those(in_one_byte), ..adamw_8bit::SCALES };

const FIRST_WIDE: StateSpec = StateSpec {
    label: "First moment, fp32",
    note: "Running mean of embeddings and small tensors, in fp32.",
    serves: Served::Those(in_fp32),
    format: StateFormat::Always(DType::Fp32),
    ..adamw_8bit::FIRST_MOMENT
};

const SECOND_WIDE: StateSpec = StateSpec {
    label: "Second moment, fp32",
    note: "Running mean of squares of embeddings and small tensors, in fp32.",
    ..FIRST_WIDE
};
