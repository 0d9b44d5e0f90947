//! Self-attention: `SelfAttention` with `TELayerNormColumnParallelLinear`, `TEDotProductAttention` and `TERowParallelLinear`.

use super::{Module, Rank, Step, step, tensor};
use crate::config::PositionEmbedding;
use crate::ops::tensor::{Dim, Kept, Role, Tensor};
use crate::ops::work::{Behind, Collective, Core, Cost, Exchange, Group, Operands, Product, Work, sight};
use crate::units::DType;

/// From the block's input to the first residual sum.
pub(super) fn steps(rank: &Rank) -> Vec<Step> {
    let mut steps = vec![projections(rank)];
    if rank.model.qk_norm {
        steps.push(head_norms(rank));
    }
    steps.push(core(rank, &Widths::plain(rank)));
    steps.push(output(rank, rank.model.head_dim));
    steps.push(rank.bias_dropout_add("Attention residual"));
    steps
}

/// Widths of queries, keys and values on this rank.
pub(super) struct Widths {
    pub(super) queries: Dim,
    pub(super) keys: Dim,
    pub(super) values: Dim,
    pub(super) output: Dim,
}

impl Widths {
    fn plain(rank: &Rank) -> Self {
        let d = rank.model.head_dim;
        let (heads, kv) = (rank.heads().1.saturating_mul(d), rank.kv_heads().1.saturating_mul(d));
        let keys = Dim("key width on this rank", kv);
        Self {
            queries: Dim("query width on this rank", heads),
            keys,
            values: Dim("value width on this rank", kv),
            output: Dim("head outputs on this rank", heads),
        }
    }
}

/// The block's input: saved in any case, as the checkpoint of a recomputed block.
pub(super) fn block_input(rank: &Rank) -> Tensor {
    Tensor { kept: Kept::BlockInput, ..rank.hidden("block input") }
}

fn projections(rank: &Rank) -> Step {
    let widths = Widths::plain(rank);
    // With fewer key/value heads than ranks every rank multiplies an equal part of the columns; the heads are gathered afterwards, and
    // each rank works with one (`get_query_key_value_tensors`, core 0.16).
    let all_keys = rank.model.num_key_value_heads.saturating_mul(rank.model.head_dim);
    let keys =
        if rank.t() > rank.model.num_key_value_heads { all_keys.saturating_mul(2).div_ceil(rank.t()) } else { 2 * widths.keys.1 };
    let columns = Dim("query, key and value width", widths.queries.1.saturating_add(keys));
    let mut tensors = vec![rank.weight("query, key and value weight", [columns, rank.h()])];
    rank.norm_weights(rank.h(), &mut tensors);
    if rank.model.attention_bias {
        tensors.push(rank.weight("query, key and value bias", [columns]));
    }
    tensors.push(block_input(rank));
    tensors.push(rank.hidden("normed input"));
    rank.statistics([rank.local_s(), rank.b()], &mut tensors);
    tensors.push(rank.alive("gradient of queries, keys and values", [rank.s(), rank.b(), columns]));
    tensors.push(rank.full_gradient("gradient of the normed input"));
    tensors.extend(rank.gathered("normed input, gathered"));
    tensors.extend(rank.weight_gradient(columns, rank.h()));
    tensors.push(rank.residual_gradient());
    let (bytes, kernels) = Rank::norm_stream(rank.hidden_bytes());
    let [gather, reduce, again] = rank.column_messages();
    let step = step("Input norm and query, key, value projection", Module::Rest, tensors).over(rank, rank.tokens());
    let step = step.streams([bytes[0], bytes[1].saturating_add(rank.gradient_sum())], [kernels[0], kernels[1] + 1]);
    step.sends(gather).sends(reduce).sends(again)
}

/// Norms over single heads: they save queries and keys as projected.
fn head_norms(rank: &Rank) -> Step {
    let d = Dim("head_dim", rank.model.head_dim);
    let mut tensors = Vec::new();
    for (heads, name) in [(rank.heads(), "projected queries"), (rank.kv_heads(), "projected keys")] {
        rank.norm_weights(d, &mut tensors);
        tensors.push(rank.saved(name, [rank.s(), rank.b(), heads, d]));
        rank.statistics([rank.s(), rank.b(), heads], &mut tensors);
        tensors.push(rank.alive("gradient of a normed head", [rank.s(), rank.b(), heads, d]));
        tensors.push(rank.alive("gradient of a projected head", [rank.s(), rank.b(), heads, d]));
    }
    tensors.push(rank.residual_gradient());
    let heads = rank.heads().1.saturating_add(rank.kv_heads().1);
    let (bytes, kernels) = Rank::norm_stream(rank.bytes(rank.tokens().saturating_mul(heads).saturating_mul(d.1)));
    step("Query and key norm", Module::Rest, tensors).streams(bytes, kernels.map(|count| 2 * count))
}

/// Attention itself.
pub(super) fn core(rank: &Rank, widths: &Widths) -> Step {
    let dims = |width: Dim| [rank.s(), rank.b(), width];
    let dropped = rank.options.recompute_modules.core_attn;
    let mut tensors = vec![
        rank.saved("queries", dims(widths.queries)),
        rank.saved("keys", dims(widths.keys)),
        rank.saved("values", dims(widths.values)),
    ];
    let mut core = Vec::new();
    if rank.unfused_attention {
        unfused(rank, &mut core);
    } else {
        let log_sum_exp = [rank.b(), rank.heads(), rank.s()];
        core.push(tensor("log-sum-exp", Role::Saved, log_sum_exp, DType::Fp32));
        if has_output_of_its_own(rank) {
            core.push(rank.saved("attention output in the kernel's layout", dims(widths.output)));
        }
    }
    tensors.extend(core.into_iter().map(|tensor| rank.droppable(tensor, dropped && tensor.role == Role::Saved)));
    tensors.push(rank.alive("gradient of the attention output", dims(widths.output)));
    for width in [widths.queries, widths.keys, widths.values] {
        tensors.push(rank.alive("gradient of queries, keys or values", dims(width)));
        if rotates(rank) {
            tensors.push(rank.alive("gradient before rotation", dims(width)));
        }
    }
    tensors.push(rank.residual_gradient());
    timed(rank, widths, step("Attention core", Module::CoreAttention, tensors))
}

/// What attention costs: rotation of queries and keys, then the fused kernel, or scores, softmax and values one by one.
fn timed(rank: &Rank, widths: &Widths, step: Step) -> Step {
    let rotated = rank.bytes(rank.tokens().saturating_mul(widths.queries.1.saturating_add(widths.keys.1)).saturating_mul(2));
    let (rotation, kernels) = if rotates(rank) { (rotated, 2) } else { (0, 0) };
    let step = step.streams([rotation, rotation], [kernels, kernels]).sends(ring(rank, widths, false));
    let step = step.sends(ring(rank, widths, true));
    let heads = rank.micro_batch_size.saturating_mul(rank.heads().1);
    let (query_width, value_width) = (widths.queries.1 / rank.heads().1.max(1), widths.output.1 / rank.heads().1.max(1));
    let full = rank.seq_length.saturating_mul(rank.layout.cp());
    if !rank.unfused_attention {
        let (pairs, seq_length) = sight(rank.model, full, rank.packed_text);
        let pairs = pairs / rank.layout.cp();
        return step.attends(Core { heads, pairs, queries: rank.seq_length, seq_length, query_width, value_width });
    }
    let product = |columns, depth| Product {
        count: heads,
        at_once: heads,
        rows: rank.seq_length,
        columns,
        depth,
        of: Operands::Activations,
        narrow: false,
    };
    let scores = heads.saturating_mul(rank.seq_length).saturating_mul(full);
    let piece = rank.bytes(scores);
    // Softmax with its scale and mask reads and writes the scores; backward reads probabilities and their gradient, writes one.
    let softmax = [piece.saturating_mul(2), piece.saturating_mul(3)];
    let dropout = if rank.options.attention_dropout { piece.saturating_mul(2).saturating_add(scores) } else { 0 };
    let bytes = softmax.map(|bytes| bytes.saturating_add(dropout));
    step.multiplies(product(full, query_width), rank).streams(bytes, [2, 2]).multiplies(product(value_width, full), rank)
}

/// Keys and values that go round the context-parallel ring, in backward with their gradients.
fn ring(rank: &Rank, widths: &Widths, backward: bool) -> Option<Cost> {
    let ranks = rank.layout.cp();
    let part = rank.bytes(rank.tokens().saturating_mul(widths.keys.1.saturating_add(widths.values.1)));
    let bytes = part.saturating_mul(ranks).saturating_mul(if backward { 2 } else { 1 });
    let exchange = Exchange { collective: Collective::Ring, group: Group::Context, bytes, behind: Behind::Attention };
    (ranks > 1).then_some(Cost { backward, work: Work::Exchange(exchange) })
}

fn rotates(rank: &Rank) -> bool {
    matches!(rank.model.position_embedding, PositionEmbedding::Rotary)
}

/// Whether the kernel's output is kept beside the projection's input.
///
/// FlashAttention's package works in `[b, s, a, d]`, its output is copied back to `[s, b, a·d]`. Context parallelism keeps the output
/// as the ring or the exchange of heads made it (Transformer Engine, `context_parallel.py`).
fn has_output_of_its_own(rank: &Rank) -> bool {
    !rank.options.fused_attention || rank.layout.cp() > 1
}

/// Scores in memory: probabilities, and with dropout a mask and the dropped probabilities.
///
/// Megatron-Core's own attention writes its scores into one buffer that all blocks share; Transformer Engine's makes a new one.
fn unfused(rank: &Rank, tensors: &mut Vec<Tensor>) {
    let full = Dim("seq_length", rank.seq_length.saturating_mul(rank.layout.cp()));
    let dims = [rank.b(), rank.heads(), rank.s(), full];
    tensors.push(rank.saved("probabilities", dims));
    if rank.options.attention_dropout {
        tensors.push(tensor("attention dropout mask", Role::Saved, dims, DType::Mask));
        tensors.push(rank.saved("probabilities after dropout", dims));
        tensors.push(rank.alive("gradient of probabilities after dropout", dims));
    }
    tensors.push(rank.alive("gradient of probabilities", dims));
}

/// The output projection.
pub(super) fn output(rank: &Rank, value_width: u64) -> Step {
    let width = Dim("head outputs on this rank", rank.heads().1.saturating_mul(value_width));
    let mut tensors = vec![rank.weight("output weight", [rank.h(), width])];
    if rank.model.attention_output_bias {
        tensors.push(rank.weight("output bias", [rank.h()]));
    }
    tensors.push(rank.saved("attention output", [rank.s(), rank.b(), width]));
    tensors.push(rank.alive("gradient of the attention output", [rank.s(), rank.b(), width]));
    tensors.extend(rank.gathered("gradient of the projected output, gathered"));
    tensors.extend(rank.weight_gradient(rank.h(), width));
    tensors.push(rank.residual_gradient());
    let [reduce, gather] = rank.row_messages();
    step("Output projection", Module::Rest, tensors).over(rank, rank.tokens()).sends(reduce).sends(gather)
}
