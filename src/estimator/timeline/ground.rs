//! How well the figures of a played step are founded: on rows that PyTorch's memory tracker
//! measured, or on rules alone.

use super::plan::{Movement, Plan};
use crate::config::{Objective, Recompute};
use crate::estimator::ledger::Certainty;
use crate::stacks::TensorParallelism;

/// How well the tensors of a model's blocks and ends are founded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// Measured rows of this stack and family are met to the byte.
    Measured,
    /// These rules are confirmed by measured rows, but by none of this family with this stack.
    Kernels,
    /// These rules are confirmed by measured rows, but by none with this layout or recomputation.
    Layout,
    /// The family's modules are not known.
    Assembled,
    /// The loss is counted as that of the next token.
    Loss,
}

impl Ground {
    /// The ground of a plan.
    pub fn of(plan: &Plan<'_>) -> Self {
        let (with, stage) = (&plan.with, &plan.stage);
        let family = with.model.family;
        let split = with.tensor_model_parallel_size > 1;
        let measured = family.modules().measured;
        let by_plan = with.stack.tensor_parallelism == TensorParallelism::PlanOfFamily;
        let measured_split = measured.tensor_parallel && by_plan && !with.sequence_parallel;
        let kernels_are_measured =
            measured.written_out && (measured.fused_kernels || !with.stack.modules().are_fused());
        let one_stage = stage.embedding && stage.head && stage.in_flight == 1;
        if family.is_generic() {
            Self::Assembled
        } else if with.tuning.objective != Objective::NextToken {
            Self::Loss
        } else if !kernels_are_measured {
            Self::Kernels
        } else if (split && !measured_split) || !one_stage || plan.recompute == Recompute::Selective
        {
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

    /// The note about saved activations.
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

/// How sure gathered weights and reduced gradients are.
pub(super) fn movement(plan: &Plan<'_>) -> Certainty {
    let measured = plan.sharding.gathers.as_ref().is_some_and(|gathers| gathers.was_measured);
    if measured && matches!(plan.movement, Movement::Weights { .. }) {
        Certainty::Exact
    } else {
        Certainty::Modelled
    }
}

/// How sure the temporaries of the optimizer's step are: some were measured, but not with states
/// dealt out as one long vector.
pub(super) fn optimizer(plan: &Plan<'_>) -> Certainty {
    let dealt = plan.sharding.shards_optimizer() && plan.shards().is_none() && plan.ranks > 1;
    if plan.optimizer.spec().is_measured && !dealt { Certainty::Exact } else { Certainty::Modelled }
}
