//! Both ends of the model: embedding, final norm, output head and loss; and the norm that stands everywhere.

use super::builder::{Lowering, in_format, workspace};
use super::tensor::{Dim, Kept, Op, Split, Tensor};
use crate::sources;
use crate::units::{DType, Flops};

/// A norm over the hidden width: saves its input.
///
/// Without `input` the norm reads what is saved already: the block's input.
pub(super) fn norm(name: &'static str, with: &Lowering, input: Option<Tensor>) -> Op {
    let mut tensors = Vec::with_capacity(4);
    tensors.extend(input.filter(|_| with.training));
    let source = if with.training { sources::KORTHIKANTI_2022 } else { sources::FUSED_KERNELS };
    Op { name, tensors, forward: Flops(0.0), attention_core: false, source }
}

/// Token embedding, learned positions, and a norm where the model has one.
pub(super) fn embedding(with: &Lowering) -> Vec<Op> {
    let mut tensors = Vec::with_capacity(5);
    if with.training {
        let ids = with.saved("token ids", [with.s(), with.b()], Split::Replicated, Kept::Always);
        tensors.push(in_format(ids, DType::Int64));
        tensors.push(in_format(with.hidden("embedding dropout mask", Kept::Always), DType::Mask));
    }
    let mut ops =
        vec![Op { name: "Embedding", tensors, forward: Flops(0.0), attention_core: false, source: sources::KORTHIKANTI_2022 }];
    if with.model.embedding_norm {
        ops.push(norm("Embedding norm", with, Some(with.hidden("embedded tokens", Kept::Always))));
    }
    ops
}

/// Final norm, output head and loss.
pub(super) fn head(with: &Lowering) -> Vec<Op> {
    let mut ops = Vec::with_capacity(2);
    if with.model.final_norm {
        ops.push(norm("Final norm", with, Some(with.hidden("final norm input", Kept::Always))));
    }
    let mut tensors = Vec::with_capacity(6);
    if with.training {
        full_logits(with, &mut tensors);
    } else {
        serving_logits(with, &mut tensors);
    }
    ops.push(Op {
        name: "Output head and loss",
        tensors,
        forward: head_products(with),
        attention_core: false,
        source: if with.training { sources::KORTHIKANTI_2022 } else { sources::FUSED_KERNELS },
    });
    ops
}

/// Training multiplies every token with the head; serving only the last token of each sequence.
fn head_products(with: &Lowering) -> Flops {
    let rows = if with.training { with.s().1.saturating_mul(with.b().1) } else { with.concurrent_sequences };
    let to = crate::units::to_f64;
    Flops(2.0 * to(rows) * to(with.h().1) * to(with.vocab().1))
}

/// Logits of the last token of every sequence, in fp32 for sampling.
fn serving_logits(with: &Lowering, tensors: &mut Vec<Tensor>) {
    let dims = [Dim("concurrent_sequences", with.concurrent_sequences), with.vocab()];
    tensors.push(workspace("logits", dims, Split::Tensor, DType::Fp32));
}

/// The paper's loss: head input and fp32 logits are saved; their 16-bit gradient is workspace of the loss's backward.
fn full_logits(with: &Lowering, tensors: &mut Vec<Tensor>) {
    let dims = [with.s(), with.b(), with.vocab()];
    tensors.push(with.hidden("head input", Kept::Always));
    tensors.push(in_format(with.saved("logits", dims, Split::Tensor, Kept::Always), DType::Fp32));
    tensors.push(workspace("gradient of logits", dims, Split::Tensor, with.activation));
}
