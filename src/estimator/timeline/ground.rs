//! What the figures of a played step rest on: rows that PyTorch's memory tracker measured, or rules alone.

use super::plan::{Movement, Plan};
use crate::config::{Family, Kernels, Objective, Recompute};
use crate::estimator::ledger::Certainty;

/// Families with a measured row of the fused kernels (`tests/data/truth` and `tests/data/measured`); all others have rows of their
/// modules as transformers writes them, which the fused kernels replace in part.
const MEASURED_FUSED: [Family; 7] =
    [Family::Llama, Family::Mistral, Family::Qwen3, Family::Mixtral, Family::Qwen3Moe, Family::GptOss, Family::Olmo2];

/// Families of whose modules no row was measured.
const UNMEASURED: [Family; 1] = [Family::Gemma];

/// Families with a measured tensor-parallel row.
const MEASURED_TENSOR_PARALLEL: [Family; 2] = [Family::Llama, Family::Mistral];

/// What stands behind the tensors of blocks and ends of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// Measured rows of this stack and family are met to the byte.
    Measured,
    /// The same rules meet measured rows, but none of this family with this stack.
    Kernels,
    /// The same rules meet measured rows, but none with this layout or recomputation.
    Layout,
    /// The family's modules are not known.
    Assembled,
    /// The loss is counted as that of the next token.
    Loss,
}

impl Ground {
    /// The ground of a plan.
    pub fn of(plan: &Plan<'_>) -> Self {
        let (with, stage) = (&plan.with, plan.stage);
        let family = with.model.family;
        let split = with.tensor_model_parallel_size > 1;
        let measured_split =
            MEASURED_TENSOR_PARALLEL.contains(&family) && with.kernels == Kernels::Eager && !with.sequence_parallel;
        let one_stage = stage.embedding && stage.head && stage.in_flight == 1;
        if family == Family::Generic {
            Self::Assembled
        } else if with.tuning.objective != Objective::NextToken {
            Self::Loss
        } else if UNMEASURED.contains(&family) || (with.kernels == Kernels::Fused && !MEASURED_FUSED.contains(&family)) {
            Self::Kernels
        } else if (split && !measured_split) || !one_stage || plan.recompute == Recompute::Selective {
            Self::Layout
        } else {
            Self::Measured
        }
    }

    /// How sure it makes a line.
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::Measured => Certainty::Exact,
            Self::Kernels | Self::Layout => Certainty::Modelled,
            Self::Assembled | Self::Loss => Certainty::Assumed,
        }
    }

    /// What is said about saved activations.
    pub const fn activations(self) -> &'static str {
        match self {
            Self::Measured => {
                "Saved in forward for backward, or alive when the peak comes. PyTorch's memory tracker counts the same bytes for this \
                 family and stack."
            }
            Self::Kernels => {
                "Saved in forward for backward, or alive when the peak comes. Checked by measurement for other families with this stack, \
                 not for this one."
            }
            Self::Layout => {
                "Saved in forward for backward, or alive when the peak comes. Checked by measurement for this family, not with this \
                 layout or recomputation."
            }
            Self::Loss => {
                "Saved in forward for backward, or alive when the peak comes. Checked by measurement for the loss of the next token, not \
                 for this one, whose own terms are small."
            }
            Self::Assembled => {
                "Saved in forward for backward, or alive when the peak comes. This family's modules are not known: they are put together \
                 from the model's sizes."
            }
        }
    }
}

/// How sure gathered weights and reduced gradients are: PyTorch's FSDP2 was measured, DeepSpeed's stages were not.
pub(super) const fn movement(plan: &Plan<'_>) -> Certainty {
    match plan.movement {
        Movement::Weights { buffers: true, .. } => Certainty::Exact,
        _ => Certainty::Modelled,
    }
}

/// How sure the temporaries of the optimizer's step are: some were measured, but not with states dealt out as one long vector.
pub(super) fn optimizer(plan: &Plan<'_>) -> Certainty {
    let dealt = plan.sharding.shards_optimizer() && plan.shards().is_none() && plan.ranks > 1;
    if plan.optimizer.spec().is_measured && !dealt { Certainty::Exact } else { Certainty::Modelled }
}
