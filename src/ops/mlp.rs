//! The feed-forward half of a block.

use super::builder::{Lowering, in_format, workspace};
use super::ends;
use super::tensor::{Kept, Op, Split};
use crate::config::MlpKind;
use crate::sources;
use crate::units::{DType, Flops};

/// All operations from the first residual sum to the block's output.
pub(super) fn operations(with: &Lowering) -> Vec<Op> {
    let mut ops = Vec::with_capacity(5);
    norm(with, &mut ops);
    ops.push(up(with));
    ops.push(down(with));
    norm_behind(with, &mut ops);
    ops
}

/// The norm before the feed-forward layer, if it has one of its own.
pub(super) fn norm(with: &Lowering, ops: &mut Vec<Op>) {
    if with.model.norms_per_block >= 2 {
        ops.push(ends::norm("Post-attention norm", with, Some(with.hidden("attention residual", Kept::Block))));
    }
}

/// A further norm behind the feed-forward layer (Gemma 2, GLM-4).
pub(super) fn norm_behind(with: &Lowering, ops: &mut Vec<Op>) {
    if with.model.norms_per_block >= 4 {
        ops.push(ends::norm("Norm behind feed-forward", with, Some(with.hidden("feed-forward output", Kept::Block))));
    }
}

/// Up (and gate) projection with its activation function.
///
/// Saved: the normed input, and the input of the activation function (gate and up in a gated layer).
fn up(with: &Lowering) -> Op {
    let gated = matches!(with.model.mlp, MlpKind::Gated);
    let dims = [with.s(), with.b(), with.ffn()];
    let names: &[&str] = if gated { &["gate output", "up output"] } else { &["activation input"] };
    let mut tensors = Vec::with_capacity(8);
    for &output in names {
        if with.training {
            tensors.push(with.saved(output, dims, Split::Tensor, Kept::Block));
        }
        tensors.push(workspace(output, dims, Split::Tensor, with.activation));
    }
    if with.training {
        tensors.push(with.hidden("feed-forward input", Kept::Block));
    }
    let forward: Flops = names.iter().map(|_| with.matrix_product(with.h().1, with.ffn().1)).sum();
    Op { name: "Feed-forward up", tensors, forward, attention_core: false, source: sources::KORTHIKANTI_2022 }
}

/// Down projection: its input and a dropout mask are saved.
fn down(with: &Lowering) -> Op {
    let mut tensors = Vec::with_capacity(6);
    if with.training {
        tensors.push(with.saved("down input", [with.s(), with.b(), with.ffn()], Split::Tensor, Kept::Block));
        tensors.push(in_format(with.hidden("feed-forward dropout mask", Kept::Block), DType::Mask));
    }
    tensors.push(workspace("down input", [with.s(), with.b(), with.ffn()], Split::Tensor, with.activation));
    tensors.push(workspace("block output", [with.s(), with.b(), with.h()], Split::Replicated, with.activation));
    Op {
        name: "Feed-forward down",
        tensors,
        forward: with.matrix_product(with.h().1, with.ffn().1),
        attention_core: false,
        source: sources::KORTHIKANTI_2022,
    }
}
