//! The feed-forward half of a block with experts, for serving and the paper's list.

use super::builder::{Lowering, in_format, workspace};
use super::mlp;
use super::tensor::{Dim, Kept, Op, Split};
use crate::config::{MlpKind, Moe};
use crate::sources;
use crate::units::{DType, Flops, to_f64};

/// Router, routed and shared experts, from the first residual sum to the block's output.
///
/// Every token goes through the same number of experts, so what is saved grows with that number and not with all experts.
pub(super) fn operations(with: &Lowering, moe: &Moe) -> Vec<Op> {
    let mut ops = Vec::with_capacity(6);
    mlp::norm(with, &mut ops);
    ops.push(router(with, moe));
    ops.push(routed(with, moe));
    if moe.shared_expert_intermediate_size > 0 {
        ops.push(shared(with, moe));
    }
    mlp::norm_behind(with, &mut ops);
    ops
}

/// How many matrices lead into an expert, with their names.
const fn inward(with: &Lowering) -> u64 {
    match with.model.mlp {
        MlpKind::Gated => 2,
        MlpKind::Plain => 1,
    }
}

/// The router, which every tensor rank holds; scores in fp32.
fn router(with: &Lowering, moe: &Moe) -> Op {
    let experts = Dim("num_experts", moe.num_experts);
    let mut tensors = Vec::with_capacity(5);
    let scores = [with.s(), with.b(), experts];
    if with.training {
        tensors.push(with.hidden("feed-forward input", Kept::Block));
        tensors.push(in_format(with.saved("router probabilities", scores, Split::Replicated, Kept::Block), DType::Fp32));
    }
    tensors.push(workspace("router scores", scores, Split::Replicated, DType::Fp32));
    let forward = with.matrix_product(with.h().1, moe.num_experts);
    Op { name: "Router", tensors, forward, attention_core: false, source: sources::ARITHMETIC }
}

/// All routed experts: what the tokens that go through them need.
fn routed(with: &Lowering, moe: &Moe) -> Op {
    let width = Dim("moe_intermediate_size", moe.moe_intermediate_size);
    let into = Dim("gate and up", inward(with));
    let mut tensors = Vec::with_capacity(6);
    let chosen = Dim("num_experts_per_tok", moe.num_experts_per_tok);
    let tokens = Dim("tokens", with.s().1.saturating_mul(with.b().1));
    let inner = [tokens, chosen, into, width];
    if with.training {
        tensors.push(with.saved("tokens of each expert", [tokens, chosen, with.h()], Split::Replicated, Kept::Block));
        tensors.push(with.saved("gate and up outputs", inner, Split::Tensor, Kept::Block));
        tensors.push(with.saved("down inputs", [tokens, chosen, width], Split::Tensor, Kept::Block));
    }
    tensors.push(workspace("tokens of each expert", [tokens, chosen, with.h()], Split::Replicated, with.activation));
    tensors.push(workspace("gate and up outputs", inner, Split::Tensor, with.activation));
    tensors.push(workspace("down inputs", [tokens, chosen, width], Split::Tensor, with.activation));
    let each = with.matrix_product(with.h().1, width.1) * to_f64(into.1.saturating_add(1));
    let forward = each * to_f64(moe.num_experts_per_tok);
    Op { name: "Experts", tensors, forward, attention_core: false, source: sources::ARITHMETIC }
}

/// The experts that every token goes through, as one of their widths together.
fn shared(with: &Lowering, moe: &Moe) -> Op {
    let width = Dim("shared_expert_intermediate_size", moe.shared_expert_intermediate_size);
    let into = Dim("gate and up", inward(with));
    let inner = [with.s(), with.b(), into, width];
    let mut tensors = Vec::with_capacity(5);
    if with.training {
        tensors.push(with.saved("shared gate and up outputs", inner, Split::Tensor, Kept::Block));
        tensors.push(with.saved("shared down input", [with.s(), with.b(), width], Split::Tensor, Kept::Block));
    }
    tensors.push(workspace("shared gate and up outputs", inner, Split::Tensor, with.activation));
    let forward: Flops = with.matrix_product(with.h().1, width.1) * to_f64(into.1.saturating_add(1));
    Op { name: "Shared experts", tensors, forward, attention_core: false, source: sources::ARITHMETIC }
}
