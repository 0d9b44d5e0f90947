//! The attention half of a block: norm, projections, scores, output.

use super::builder::{Lowering, in_format, workspace};
use super::tensor::{Dim, Kept, Op, Split, Tensor};
use super::{ends, latent, mixer, writes_scores};
use crate::config::{Keys, LayerKind};
use crate::sources;
use crate::units::{DType, Flops, to_f64};

/// All operations from the block's input to the first residual sum: attention, a state, or both side by side.
pub(super) fn first_half(with: &Lowering, kind: LayerKind) -> Vec<Op> {
    let mut ops = Vec::with_capacity(12);
    if with.training {
        ops.push(block_input(with));
    }
    let mixer = with.model.mixer().filter(|_| kind.mixer);
    if with.model.norms_per_block >= 1 && (mixer.is_some() || kind.keys != Keys::None) {
        ops.push(ends::norm("Input norm", with, None));
    }
    if let Some(mixer) = mixer {
        ops.extend(mixer::operations(with, mixer));
    }
    if kind.keys != Keys::None {
        attention(with, kind.keys, &mut ops);
    }
    if with.model.norms_per_block >= 3 {
        ops.push(ends::norm("Norm behind attention", with, Some(with.hidden("projected output", Kept::Block))));
    }
    ops
}

/// From projections to output.
fn attention(with: &Lowering, keys: Keys, ops: &mut Vec<Op>) {
    match &with.model.mla {
        Some(mla) => ops.extend(latent::projections(with, mla)),
        None => ops.push(projections(with, keys)),
    }
    if with.model.qk_norm {
        ops.push(qk_norm(with));
    }
    if writes_scores(with) {
        standard_core(with, ops);
    } else {
        ops.push(flash_core(with));
    }
    ops.push(output_projection(with));
}

/// What the block is given; it is saved in any case, as the checkpoint under full recomputation.
fn block_input(with: &Lowering) -> Op {
    Op {
        name: "Block input",
        tensors: vec![with.hidden("block input", Kept::BlockInput)],
        forward: Flops(0.0),
        attention_core: false,
        source: sources::KORTHIKANTI_2022,
    }
}

/// Query, key and value projections, with a gate as wide as the queries where there is one; the normed input is saved once for all.
fn projections(with: &Lowering, keys: Keys) -> Op {
    let (heads, kv, d) = (with.heads(), with.kv_heads(), with.head_dim());
    let mut tensors = Vec::with_capacity(8);
    if with.training {
        tensors.push(with.hidden("projection input", Kept::Block));
    }
    let queries = heads.1.saturating_mul(if with.model.gates_attention() { 2 } else { 1 });
    let of_each = match keys {
        Keys::Own => d.1.saturating_add(with.value_dim().1),
        Keys::Joint => d.1,
        Keys::Shared | Keys::None => 0,
    };
    let columns = queries.saturating_mul(d.1).saturating_add(kv.1.saturating_mul(of_each));
    tensors.push(workspace(
        "queries, keys and values",
        [with.s(), with.b(), Dim("q+k+v width", columns)],
        Split::Tensor,
        with.activation,
    ));
    Op {
        name: "Query, key and value projection",
        tensors,
        forward: with.matrix_product(with.h().1, columns),
        attention_core: false,
        source: sources::KORTHIKANTI_2022,
    }
}

/// Norms over queries and keys: inputs and one fp32 value per head and token are saved.
fn qk_norm(with: &Lowering) -> Op {
    let mut tensors = Vec::with_capacity(8);
    if with.training {
        for (name, statistic, heads) in
            [("unnormed queries", "query norm statistic", with.heads()), ("unnormed keys", "key norm statistic", with.kv_heads())]
        {
            let split = Split::Heads(heads.1);
            tensors.push(with.saved(name, [with.s(), with.b(), heads, with.head_dim()], split, Kept::Block));
            tensors.push(in_format(with.saved(statistic, [with.s(), with.b(), heads], split, Kept::Block), DType::Fp32));
        }
    }
    Op { name: "Query and key norm", tensors, forward: Flops(0.0), attention_core: false, source: sources::FUSED_KERNELS }
}

/// Queries, keys and values as the attention core reads them.
fn queries_keys_values(with: &Lowering) -> [Tensor; 3] {
    let saved =
        |name, heads: Dim, width| with.saved(name, [with.s(), with.b(), heads, width], Split::Heads(heads.1), Kept::Block);
    let (queries, keys, d) = (with.heads(), with.kv_heads(), with.head_dim());
    [saved("queries", queries, d), saved("keys", keys, d), saved("values", keys, with.value_dim())]
}

/// `FlashAttention`: no scores in memory; queries, keys, values, output and one fp32 log-sum-exp per query and head are saved.
fn flash_core(with: &Lowering) -> Op {
    let mut tensors = Vec::with_capacity(4);
    if with.training {
        tensors.extend(queries_keys_values(with));
        let statistic = with.saved("log-sum-exp", [with.s(), with.b(), with.heads()], Split::Heads(with.heads().1), Kept::Block);
        tensors.push(in_format(statistic, DType::Fp32));
    }
    Op {
        name: "Attention core (FlashAttention)",
        tensors,
        forward: with.attention_product() + values_product(with),
        attention_core: true,
        source: sources::FLASH_ATTENTION_2022,
    }
}

/// FLOPs of the product of probabilities with values: as of queries with keys where the heads are as wide, or latent.
fn values_product(with: &Lowering) -> Flops {
    let model = with.model;
    if model.mla.is_some() || model.value_head_dim() == model.head_dim {
        return with.attention_product();
    }
    with.attention_product() * (to_f64(model.value_head_dim()) / to_f64(model.head_dim.max(1)))
}

/// Scores, softmax, dropout and values, with scores written to memory.
///
/// In the list of Korthikanti et al. probabilities, dropout mask and dropout output take `5·a·s²·b` bytes in 16 bit.
fn standard_core(with: &Lowering, ops: &mut Vec<Op>) {
    let dims = [with.b(), with.heads(), with.s(), Dim("context_length", with.context_length)];
    let split = Split::Heads(with.heads().1);
    let square = |name, dtype| in_format(with.saved(name, dims, split, Kept::AttentionCore), dtype);
    let op = |name, tensors, forward| Op { name, tensors, forward, attention_core: true, source: sources::KORTHIKANTI_2022 };
    let [queries, keys, values] = queries_keys_values(with);
    if !with.training {
        let scores = workspace("scores", dims, split, DType::Fp32);
        ops.push(op("Scores", vec![scores], with.attention_product()));
        ops.push(op("Attention over values", Vec::new(), values_product(with)));
        return;
    }
    ops.push(op("Scores", vec![queries, keys], with.attention_product()));
    ops.push(op("Softmax", vec![square("probabilities", with.activation)], Flops(0.0)));
    ops.push(op("Attention dropout", vec![square("attention dropout mask", DType::Mask)], Flops(0.0)));
    let dropped = square("probabilities after dropout", with.activation);
    ops.push(op("Attention over values", vec![dropped, values], with.attention_product()));
}

/// Output projection: the attention output and a dropout mask are saved.
fn output_projection(with: &Lowering) -> Op {
    let split = Split::Heads(with.heads().1);
    let width = with.value_dim();
    let mut tensors = Vec::with_capacity(5);
    if with.training {
        tensors.push(with.saved("attention output", [with.s(), with.b(), with.heads(), width], split, Kept::Block));
        tensors.push(in_format(with.hidden("output dropout mask", Kept::Block), DType::Mask));
    }
    tensors.push(workspace("projected output", [with.s(), with.b(), with.h()], Split::Replicated, with.activation));
    Op {
        name: "Output projection",
        tensors,
        forward: with.matrix_product(with.h().1, with.heads().1.saturating_mul(width.1)),
        attention_core: false,
        source: sources::KORTHIKANTI_2022,
    }
}
