//! Adafactor as transformers has it (`class Adafactor` in `transformers/optimization.py`, 5.23),
//! which the Trainer takes for `adafactor`.
//!
//! The optimizer goes through the parameters one by one, in fp32: gradients and weights of 16 bits
//! are copied for it. A parameter's root mean square stays as a number on the GPU until the next
//! step makes it anew.

use super::{
    ConflictingTool, OptimizerConflict, OptimizerImplementation, OptimizerSpec, Piece, StateFormat,
    StateSpec, StateValues, StepTemporaries, UpdatedParameter, adafactor,
};
use crate::sources;
use crate::units::DType;

/// As PyTorch's, with numbers of each parameter, and temporaries.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adafactort",
    name: "adafactor_transformers",
    label: "Adafactor (transformers)",
    help: "Row and column statistics; the step copies one parameter after the other into fp32. \
        Hugging Face's Trainer takes it for adafactor.",
    place: 51,
    states: &[FACTORS, ROOT_MEAN_SQUARE],
    temporaries,
    is_measured: true,
    conflicts: &[
        conflict(
            ConflictingTool::OwnTrainingLoop,
            "Megatron-LM has a training loop of its own; use another optimizer, or the software \
             stack Hugging Face",
        ),
        conflict(
            ConflictingTool::TensorParallelism,
            "transformers' Adafactor makes its statistics for whole tensors, not for those that \
             tensor-parallel ranks split; use 1 tensor-parallel rank, or another optimizer",
        ),
        conflict(
            ConflictingTool::ShardedStates,
            "transformers' Adafactor makes its statistics for whole tensors, and how it works on \
             those that ZeRO or FSDP share out is not modelled; share nothing out, or use another \
             optimizer",
        ),
        conflict(
            ConflictingTool::OffloadedStates,
            "The step of transformers' Adafactor in host memory is not modelled; keep its states \
             on the GPU, or use another optimizer",
        ),
        conflict(
            ConflictingTool::PagedStates,
            "bitsandbytes has no paged Adafactor; use another optimizer, or none in pages",
        ),
    ],
    ..adafactor::OPTIMIZER
};

const fn conflict(with: ConflictingTool, says: &'static str) -> OptimizerConflict {
    OptimizerConflict { with, says, source: sources::TRANSFORMERS_ADAFACTOR }
}

const FACTORS: StateSpec =
    StateSpec { source: sources::TRANSFORMERS_ADAFACTOR, ..adafactor::FACTORS };

const ROOT_MEAN_SQUARE: StateSpec = StateSpec {
    label: "Root mean squares",
    note: "One number for each parameter tensor, from its last step.",
    values: StateValues::OfShape(|_| 1),
    ..FACTORS
};

const FP32: StateFormat = StateFormat::Always(DType::Fp32);

/// The variables of the loop. Each holds its tensor until it is given another one.
#[derive(Default)]
struct Variables {
    gradient: Option<Piece>,
    weight: Option<Piece>,
    update: Option<Piece>,
}

/// The loop over the parameters, variable by variable.
fn temporaries(
    _: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    let mut held = Variables::default();
    for parameter in parameters {
        let whole = |step: &mut StepTemporaries, name| step.take(name, parameter.elements, FP32);
        let copy = |step: &mut StepTemporaries, variable: &mut Option<Piece>, name| {
            step.rebind(variable, None);
            if step.is_narrower(parameter, DType::Fp32) {
                *variable = Some(step.take(name, parameter.elements, FP32));
            }
        };
        copy(step, &mut held.gradient, "gradient in fp32");
        copy(step, &mut held.weight, "weight in fp32");
        root_mean_square(step);
        let squared = whole(step, "squared gradient");
        let above_zero = whole(step, "squared gradient and epsilon");
        step.free(squared);
        step.rebind(&mut held.update, Some(above_zero));
        let made = match parameter.matrix {
            Some(sides) => from_factors(parameter.elements, sides, step),
            None => whole(step, "inverse root of the second moment"),
        };
        step.rebind(&mut held.update, Some(made));
        root_mean_square(step);
        let negated = whole(step, "negated update");
        step.free(negated);
    }
    for variable in [&mut held.gradient, &mut held.weight, &mut held.update] {
        step.rebind(variable, None);
    }
}

/// A norm, and its share of the root of the number of elements.
fn root_mean_square(step: &mut StepTemporaries) {
    let norm = step.take("norm", 1, FP32);
    let mean = step.take("root mean square", 1, FP32);
    step.free(norm);
    step.free(mean);
}

/// The means of rows and columns are added to the statistics; of these `_approx_sq_grad` makes the
/// whole.
fn from_factors(elements: u64, [rows, columns]: [u64; 2], step: &mut StepTemporaries) -> Piece {
    let (of_rows, of_columns) = (elements / columns.max(1), elements / rows.max(1));
    for (name, side) in [("means of rows", of_rows), ("means of columns", of_columns)] {
        let means = step.take(name, side, FP32);
        step.free(means);
    }
    let mean = step.take("mean of the rows' statistics", of_rows / rows.max(1), FP32);
    let row_factor = step.take("factors of rows", of_rows, FP32);
    step.free(mean);
    let column_factor = step.take("factors of columns", of_columns, FP32);
    let whole = step.take("update", elements, FP32);
    step.free(row_factor);
    step.free(column_factor);
    whole
}
