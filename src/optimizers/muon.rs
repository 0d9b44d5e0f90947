//! Muon as PyTorch has it (`torch/optim/_muon.py`, PyTorch 2.15), beside AdamW for the parameters
//! that Muon does not take.
//!
//! A run makes two optimizers, as Muon's documentation asks: `torch.optim.Muon` for the matrices of
//! the blocks, `torch.optim.AdamW` for embeddings, head, norms and biases, and for experts that are
//! one tensor of three dimensions, which Muon refuses. Muon knows a loop only; the run's
//! implementation is AdamW's.

use super::{
    ConflictingTool, OptimizerConflict, OptimizerImplementation, OptimizerSpec, OptimizerWork,
    Piece, Served, StateFormat, StateSpec, StepTemporaries, StepWork, UpdatedParameter, adamw,
};
use crate::sources;
use crate::units::{DType, to_f64};

/// One momentum of a matrix, AdamW's two moments of everything else.
pub(super) const OPTIMIZER: OptimizerSpec = OptimizerSpec {
    key: "muon",
    name: "muon",
    label: "Muon, with AdamW",
    help: "One momentum for the matrices of the blocks; AdamW's two moments for embeddings, head, \
        norms and biases.",
    place: 60,
    is_default: false,
    states: &[MOMENTUM, FIRST_MOMENT, SECOND_MOMENT],
    counts_steps: REST,
    temporaries,
    is_measured: true,
    work: Some(OptimizerWork {
        of: work,
        formula: "Newton–Schulz products at the rate of 16-bit products, and bytes of weights, \
            gradients and states over the memory's bandwidth",
    }),
    conflicts: &[
        OptimizerConflict {
            with: ConflictingTool::OwnTrainingLoop,
            says: "Muon is modelled as PyTorch has it, not as Megatron-LM does; use another \
                software stack, or another optimizer",
            source: sources::PYTORCH_AUTOGRAD,
        },
        OptimizerConflict {
            with: ConflictingTool::TensorParallelism,
            says: "Muon multiplies whole matrices, and how it gathers those that tensor-parallel \
                ranks split is not modelled; use 1 tensor-parallel rank, or another optimizer",
            source: sources::PYTORCH_AUTOGRAD,
        },
        OptimizerConflict {
            with: ConflictingTool::ShardedStates,
            says: "Muon multiplies whole matrices, and how it gathers those that ZeRO or FSDP \
                share out is not modelled; share nothing out, or use another optimizer",
            source: sources::PYTORCH_AUTOGRAD,
        },
        OptimizerConflict {
            with: ConflictingTool::OffloadedStates,
            says: "Muon's step in host memory is not modelled; keep its states on the GPU, or use \
                another optimizer",
            source: sources::PYTORCH_AUTOGRAD,
        },
        OptimizerConflict {
            with: ConflictingTool::PagedStates,
            says: "bitsandbytes has no paged Muon; use another optimizer, or none in pages",
            source: sources::PYTORCH_AUTOGRAD,
        },
    ],
    replaces: None,
};

const MOMENTUM: StateSpec = StateSpec {
    label: "Momentum",
    note: "Running mean of the gradients of the blocks' matrices.",
    serves: Served::Those(is_of_muon),
    source: sources::PYTORCH_AUTOGRAD,
    ..adamw::FIRST_MOMENT
};

const FIRST_MOMENT: StateSpec = StateSpec { serves: REST, ..adamw::FIRST_MOMENT };

const SECOND_MOMENT: StateSpec = StateSpec { serves: REST, ..adamw::SECOND_MOMENT };

const REST: Served = Served::Those(|parameter| !is_of_muon(parameter));

/// Newton–Schulz steps (`DEFAULT_NS_STEPS`).
const STEPS: u32 = 5;

/// The format in which it orthogonalises, whatever the gradient's.
const NARROW: StateFormat = StateFormat::Always(DType::Bf16);

/// True if Muon updates a parameter: a matrix of a block.
const fn is_of_muon(parameter: &UpdatedParameter) -> bool {
    parameter.in_block && parameter.dimensions == 2
}

/// The shorter and the longer side of a matrix.
fn sides(parameter: &UpdatedParameter) -> [u64; 2] {
    let [rows, columns] = parameter.matrix.unwrap_or([1, parameter.elements]);
    [rows.min(columns), rows.max(columns)]
}

/// Muon goes through its matrices, then AdamW steps. The update of a matrix is freed when that of
/// the next one begins.
fn temporaries(
    implementation: OptimizerImplementation,
    parameters: &[UpdatedParameter],
    step: &mut StepTemporaries,
) {
    let (matrices, rest): (Vec<_>, Vec<_>) = parameters.iter().copied().partition(is_of_muon);
    let mut update: Option<Piece> = None;
    for matrix in &matrices {
        let ahead = step.take("gradient and momentum", matrix.elements, matrix.state_format());
        step.rebind(&mut update, Some(ahead));
        let orthogonal = orthogonalised(matrix, step);
        step.rebind(&mut update, Some(orthogonal));
    }
    step.rebind(&mut update, None);
    adamw::temporaries(implementation, &rest, step);
}

/// `_zeropower_via_newtonschulz`, variable by variable: each is freed once the next of its name is
/// made.
fn orthogonalised(matrix: &UpdatedParameter, step: &mut StepTemporaries) -> Piece {
    let [short, _] = sides(matrix);
    let square = short.saturating_mul(short);
    let mut orthogonal = step.take("orthogonal gradient", matrix.elements, NARROW);
    let norm = step.take("norm", 1, NARROW);
    let limited = step.take("norm within limits", 1, NARROW);
    step.free(norm);
    step.free(limited);
    let (mut gram, mut polynomial): (Option<Piece>, Option<Piece>) = (None, None);
    for _ in 0..STEPS {
        let made = step.take("Gram matrix", square, NARROW);
        step.rebind(&mut gram, Some(made));
        let made = step.take("polynomial of the Gram matrix", square, NARROW);
        step.rebind(&mut polynomial, Some(made));
        let made = step.take("orthogonal gradient", matrix.elements, NARROW);
        step.free(std::mem::replace(&mut orthogonal, made));
    }
    step.rebind(&mut gram, None);
    step.rebind(&mut polynomial, None);
    orthogonal
}

/// Products of a Newton–Schulz step on a matrix of `m` by `n`, `m` the shorter side: the Gram
/// matrix `2m²n`, its square `2m³`, the product with the matrix `2m²n`. Beside them the update
/// streams: the gradient joined with its momentum in fp32 (12 bytes an element), copied to bf16
/// (6), its norm (2), divided (4), added to the weight (2).
fn work(parameter: &UpdatedParameter) -> StepWork {
    if !is_of_muon(parameter) {
        return StepWork::default();
    }
    let [short, long] = sides(parameter).map(to_f64);
    StepWork {
        flops: f64::from(STEPS) * (4.0 * short * short * long + 2.0 * short * short * short),
        bytes: 26.0 * to_f64(parameter.elements),
    }
}
