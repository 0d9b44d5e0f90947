//! AdamW with moments of four bits as torchao has it (`optim/adam.py` and `optim/subclass_4bit.py`
//! of 0.18), set up as its AdamW with moments of one byte.
//!
//! Codes are packed from two places at once, which the compiler of PyTorch 2.15 does not do in the
//! kernel that finds them: scaled moments in fp32 and their codes as integers of 64 bits stand
//! beside each parameter in turn (the allocator's record of a step on the pretended GPU).

use super::{
    OptimizerImplementation, OptimizerSpec, Served, StateFormat, StateSpec, StateValues,
    StepTemporaries, UpdatedParameter,
    adamw_8bit_torchao::{self, BLOCK, CONFLICTS, FIRST_WIDE, SCALES, SECOND_WIDE, in_few_bits},
};
use crate::sources;
use crate::units::DType;

/// Two moments of half a byte.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adamw4ao",
    name: "adamw_4bit_torchao",
    label: "AdamW, 4-bit (torchao)",
    help: "Two moments of half a byte: about 1 byte per parameter.",
    place: 23,
    states: &[FIRST_MOMENT, SECOND_MOMENT, SCALES, CODES, FIRST_WIDE, SECOND_WIDE],
    temporaries,
    conflicts: CONFLICTS,
    ..adamw_8bit_torchao::OPTIMIZER
};

const FIRST_MOMENT: StateSpec = StateSpec {
    label: "First moment, 4 bit",
    note: "Running mean in four bits, scaled block by block.",
    serves: Served::Those(in_few_bits),
    values: StateValues::EveryElement,
    format: StateFormat::Always(DType::Int4),
    source: sources::TORCHAO_OPTIM,
};

const SECOND_MOMENT: StateSpec = StateSpec {
    label: "Second moment, 4 bit",
    note: "Running mean of squares in four bits, scaled block by block.",
    ..FIRST_MOMENT
};

/// The values of all 16 codes, for each moment of each tensor.
const CODES: StateSpec = StateSpec {
    label: "Values of codes",
    note: "What each code stands for, in fp32.",
    values: StateValues::OfShape(|_| 2 * 16),
    ..SCALES
};

fn temporaries(
    _: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    let of = StateFormat::Always;
    for parameter in parameters.iter().filter(|parameter| in_few_bits(parameter)) {
        let elements = parameter.elements;
        let scales = [(); 2].map(|()| step.take("new scales", elements / BLOCK, of(DType::Fp32)));
        let scaled = [(); 2].map(|()| step.take("scaled moment", elements, of(DType::Fp32)));
        let codes = [(); 2].map(|()| step.take("codes", elements, of(DType::Int64)));
        for ((scales, scaled), codes) in scales.into_iter().zip(scaled).zip(codes) {
            step.free(scaled);
            step.free(codes);
            step.free(scales);
        }
    }
}
