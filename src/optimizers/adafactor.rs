//! Adafactor without momentum (`torch/optim/_adafactor.py`).

use super::{
    OptimizerSpec, Served, StateFormat, StateSpec, StateValues, StepTemporaries, UpdatedParameter,
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
    temporaries: StepTemporaries::none,
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
