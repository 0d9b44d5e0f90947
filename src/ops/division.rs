//! Parts of a block that tensor-parallel ranks share, by the software that splits them.
//!
//! Hugging Face modules follow their family's plan (transformers 5.23, `base_model_tp_plan`): most
//! split attention by heads and the feed-forward layer and experts by columns; where a plan gathers
//! a product's output (`colwise_gather_output`), ranks hold parts of the weights and all of what
//! they multiply to; what no plan names stays whole. Other stacks are split as Megatron-Core does.

use super::builder::Lowering;
use super::tensor::Dim;
use crate::stacks::TensorParallelism;

pub(crate) use crate::config::Division;

/// Parts of a block that ranks may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// By heads.
    Attention,
    /// By columns.
    FeedForward,
    /// Each expert by columns.
    Experts,
}

impl Lowering<'_> {
    /// How that part is shared.
    pub(super) fn division(&self, part: Part) -> Division {
        if self.tensor_model_parallel_size <= 1 {
            return Division::Whole;
        }
        if self.stack.tensor_parallelism == TensorParallelism::HeadsAndColumns {
            return Division::Divided;
        }
        match (self.model.family.modules().tensor_plan, part) {
            (None, _) => Division::Whole,
            (Some(plan), Part::Attention) => plan.attention,
            (Some(plan), Part::FeedForward) => plan.feed_forward,
            (Some(_), Part::Experts) => Division::Divided,
        }
    }

    /// One rank's part of the tensors that are computed there.
    pub(super) fn share(&self, part: Part, dim: Dim) -> Dim {
        if self.division(part) == Division::Divided { self.local(dim) } else { dim }
    }

    /// Query heads of one rank.
    pub(super) fn own_heads(&self) -> Dim {
        self.share(Part::Attention, self.heads())
    }

    /// Key/value heads of one rank.
    pub(super) fn own_kv_heads(&self) -> Dim {
        self.share(Part::Attention, self.kv_heads())
    }
}
