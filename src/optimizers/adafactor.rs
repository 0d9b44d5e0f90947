//! Adafactor without momentum (`torch/optim/_adafactor.py`, PyTorch 2.15), as its loop runs.

use super::{
    OptimizerImplementation, OptimizerSpec, Piece, Served, StateFormat, StateSpec, StateValues,
    StepTemporaries, UpdatedParameter,
};
use crate::sources;
use crate::units::DType;

/// One row and one column of a matrix, a full vector for one-dimensional parameters.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "adafactor",
    name: "adafactor",
    label: "Adafactor",
    help: "Row and column statistics: almost no memory.",
    place: 50,
    is_default: false,
    states: &[FACTORS],
    counts_steps: Served::Nothing,
    temporaries,
    is_measured: false,
    work: None,
    conflicts: &[],
    replaces: None,
};

pub(super) const FACTORS: StateSpec = StateSpec {
    label: "Row and column factors",
    note: "One row and one column of a matrix instead of its full second moment.",
    serves: Served::All,
    values: StateValues::OfShape(factors),
    format: StateFormat::Always(DType::Fp32),
    source: sources::ADAFACTOR_2018,
};

/// One parameter after the other: the update is made of the factors, and its variable keeps it
/// until the next one is there. A vector's squared gradient stands beside it.
fn temporaries(
    _: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    let (mut held, mut squared): (Option<Piece>, Option<Piece>) = (None, None);
    for one in parameters {
        if one.matrix.is_none() {
            let square = step.take("squared gradient", one.elements, one.state_format());
            step.rebind(&mut squared, Some(square));
        }
        let update = step.take("update", one.elements, one.state_format());
        step.rebind(&mut held, Some(update));
    }
    step.rebind(&mut held, None);
    step.rebind(&mut squared, None);
}

/// Elements of a matrix's rows and columns, of all matrices that the tensor holds; all elements of
/// a vector.
fn factors(parameter: &UpdatedParameter) -> u64 {
    match parameter.matrix {
        Some([rows, columns]) => {
            (parameter.elements / rows.max(1)).saturating_add(parameter.elements / columns.max(1))
        }
        None => parameter.elements,
    }
}
