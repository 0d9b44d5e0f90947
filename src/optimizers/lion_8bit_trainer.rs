//! Lion with a momentum of one byte as Hugging Face's Trainer sets bitsandbytes up: embeddings and
//! small tensors keep theirs in fp32, as under AdamW with moments of one byte.

use super::{
    OptimizerSpec, Served, StateFormat, StateSpec, StateValues, adamw_8bit,
    adamw_8bit_trainer::{in_fp32, in_one_byte},
    lion,
};
use crate::units::DType;

/// One momentum of one byte.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "lion8t",
    name: "lion_8bit_trainer",
    label: "Lion, 8-bit (Trainer)",
    help: "One momentum of one byte; that of embeddings and of small tensors in fp32.",
    place: 71,
    states: &[MOMENTUM, SCALES, WIDE],
    ..lion::OPTIMIZER
};

const MOMENTUM: StateSpec = StateSpec {
    label: "Momentum, 8 bit",
    serves: Served::Those(in_one_byte),
    ..adamw_8bit::FIRST_MOMENT
};

const SCALES: StateSpec = StateSpec {
    label: "Scales of the momentum",
    serves: Served::Those(in_one_byte),
    values: StateValues::OfElements(|elements| elements.div_ceil(adamw_8bit::BLOCK)),
    ..adamw_8bit::SCALES
};

const WIDE: StateSpec = StateSpec {
    label: "Momentum, fp32",
    note: "Running mean of embeddings and small tensors, in fp32.",
    serves: Served::Those(in_fp32),
    format: StateFormat::Always(DType::Fp32),
    ..adamw_8bit::FIRST_MOMENT
};
