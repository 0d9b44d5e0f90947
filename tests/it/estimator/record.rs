//! The record of a model's forward against closed forms, and against the papers' list of the same layers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use crate::support;

use headroom::catalog;
use headroom::config::{AttentionKernel, Kernels, Method, ModelConfig, Objective, Recompute, Tuning};
use headroom::ops::{self, Lowering, Op, OpList, Role, Tensor, lower};
use headroom::units::{Flops, to_f64};
use proptest::prelude::*;

/// Every model of the catalog that can be trained, as it is and with the modules of each other family that has its shape.
fn models() -> impl Iterator<Item = ModelConfig> {
    let trained = catalog::models().iter().map(|row| &row.config).filter(|model| model.hybrid.is_none());
    trained.flat_map(|model| {
        let as_family = |family| ModelConfig { family, ..model.clone() };
        let others = headroom::models::families().map(as_family).filter(|other| other.family_of_shape() == other.family);
        std::iter::once(model.clone()).chain(others)
    })
}

/// Weights of a block's matrix that one token is multiplied with; nothing of a gate of one column.
fn met_by_a_token(model: &ModelConfig, op: &Op, tensor: &Tensor) -> u64 {
    let is_matrix = tensor.shape.dims().count() > 1 && !tensor.name.ends_with("biases");
    if tensor.role != Role::Parameter || !is_matrix || op.name == "Shared experts' gate" {
        return 0;
    }
    let elements = tensor.shape.elements().0;
    // Each expert's matrix is one of as many.
    let of_expert = model.moe.as_ref().filter(|_| tensor.shape.dims().count() > 2);
    of_expert.map_or(elements, |moe| elements / moe.num_experts * moe.num_experts_per_tok)
}

/// `2 · b · s · (weights that a token meets) + 4 · b · s · c · a · d` in each block, and `2 · b · s · h · v` for the head; `c` are the
/// tokens of a text.
fn closed_form(with: &Lowering, list: &OpList) -> f64 {
    let (model, tokens) = (with.model, to_f64(with.seq_length) * to_f64(with.micro_batch_size));
    let text = to_f64(with.packed_text.unwrap_or(with.context_length));
    let core = 4.0 * tokens * text * to_f64(model.num_attention_heads) * to_f64(model.head_dim);
    let of_kind = |kind: &ops::BlockKind| {
        let weights = kind.ops.iter().flat_map(|op| op.tensors.iter().map(|tensor| to_f64(met_by_a_token(model, op, tensor))));
        to_f64(kind.layers) * (2.0 * tokens * weights.sum::<f64>() + core)
    };
    list.kinds.iter().map(of_kind).sum::<f64>() + 2.0 * tokens * to_f64(model.hidden_size) * to_f64(model.vocab_size)
}

/// Attention's part of a block's FLOPs.
fn core(ops: &[Op]) -> Flops {
    ops.iter().filter(|op| op.attention_core).map(|op| op.forward).sum()
}

#[test]
fn every_matrix_is_multiplied_once_with_every_token_that_meets_it() {
    for model in models() {
        for kernels in [Kernels::Eager, Kernels::Fused] {
            for attention in [AttentionKernel::Standard, AttentionKernel::Flash] {
                let plain = Lowering { kernels, attention, ..Lowering::parameters_only(&model) };
                let with = Lowering { seq_length: 777, micro_batch_size: 3, context_length: 777, ..plain };
                let list = lower(&with);
                assert!(
                    (list.forward().0 - closed_form(&with, &list)).abs() < 0.5,
                    "{:?} {kernels:?} {attention:?}",
                    model.family
                );
            }
        }
    }
}

/// The list of Korthikanti et al. writes each layer's products down by hand.
#[test]
fn flops_and_parameters_are_those_of_the_papers_list() {
    let tunings = [
        (Tuning::FULL, Recompute::None, None),
        (Tuning { objective: Objective::Reward, ..Tuning::FULL }, Recompute::Full, None),
        (Tuning { method: Method::Lora, objective: Objective::Preference, ..Tuning::FULL }, Recompute::Selective, Some(300)),
        (Tuning { method: Method::Dora, dropout: true, ..Tuning::FULL }, Recompute::None, None),
        (Tuning { method: Method::Prefix, ..Tuning::FULL }, Recompute::None, None),
        (Tuning { method: Method::Prompt, ..Tuning::FULL }, Recompute::None, None),
    ];
    for (model, at) in models().zip(0_usize..) {
        let (tuning, recompute, packed_text) = tunings[at % tunings.len()];
        let plain = Lowering { tuning, recompute, packed_text, ..Lowering::parameters_only(&model) };
        let shape = Lowering { seq_length: 640, micro_batch_size: 2, context_length: 656, ..plain };
        let papers = lower(&Lowering { kernels: Kernels::Korthikanti, ..shape });
        for kernels in [Kernels::Eager, Kernels::Fused] {
            let attention = if at % 2 == 0 { AttentionKernel::Standard } else { AttentionKernel::Flash };
            let list = lower(&Lowering { kernels, attention, autocast: at % 3 == 0, ..shape });
            let figures = |list: &OpList| {
                let flops = [ops::forward(&list.embedding), list.over_blocks(ops::forward), list.over_blocks(core)];
                let ends = [&list.embedding, &list.head].map(|ops| ops::parameters(ops));
                (flops, ops::forward(&list.head), list.parameters(), ends)
            };
            assert_eq!(figures(&list), figures(&papers), "{:?} {kernels:?} {tuning:?}", model.family);
        }
    }
}

proptest! {
    #[test]
    fn any_training_job_has_the_flops_of_the_closed_form(job in support::random::job(), eager in any::<bool>()) {
        prop_assume!(job.training().is_some());
        let kernels = if eager { Kernels::Eager } else { Kernels::Fused };
        let with = Lowering { kernels, ..ops::lowering(&job) };
        let list = lower(&with);
        let (ours, expected) = (list.forward().0, closed_form(&with, &list));
        // Whole numbers below 2⁵³ are exact.
        let near = if expected < 9e15 { 0.5 } else { expected * 1e-14 };
        prop_assert!((ours - expected).abs() <= near, "{ours:e} against {expected:e}");
        prop_assert_eq!(list.parameters(), lower(&Lowering { kernels: Kernels::Korthikanti, ..with }).parameters());
    }
}
