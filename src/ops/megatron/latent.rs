//! Multi-head latent attention: `MLASelfAttention` with a norm of its own and norms inside the up projections.

use super::attention::{Widths, block_input, core};
use super::{Module, Rank, Step, step};
use crate::config::Mla;
use crate::ops::tensor::Dim;

/// From the block's input to the first residual sum.
pub(super) fn steps(rank: &Rank) -> Vec<Step> {
    let Some(mla) = rank.model.mla else { return Vec::new() };
    let mut steps = vec![input_norm(rank)];
    steps.extend(queries(rank, &mla));
    steps.extend(keys_and_values(rank, &mla));
    steps.push(core(rank, &widths(rank, &mla)));
    steps.push(super::attention::output(rank, mla.v_head_dim));
    steps.push(rank.bias_dropout_add("Attention residual"));
    steps
}

fn widths(rank: &Rank, mla: &Mla) -> Widths {
    let heads = rank.heads().1;
    let width = heads.saturating_mul(mla.qk_head_dim());
    Widths {
        queries: Dim("query width on this rank", width),
        keys: Dim("key width on this rank", width),
        values: Dim("value width on this rank", heads.saturating_mul(mla.v_head_dim)),
        output: Dim("head outputs on this rank", heads.saturating_mul(mla.v_head_dim)),
    }
}

/// The block's norm: a module of its own, because two projections read its output.
fn input_norm(rank: &Rank) -> Step {
    let mut tensors = Vec::new();
    rank.norm_weights(rank.h(), &mut tensors);
    tensors.push(block_input(rank));
    tensors.push(rank.droppable(rank.hidden("normed input"), rank.options.recompute_modules.layernorm));
    rank.statistics([rank.local_s(), rank.b()], &mut tensors);
    tensors.push(rank.residual_gradient());
    tensors.push(rank.residual_gradient());
    let (bytes, kernels) = Rank::norm_stream(rank.hidden_bytes());
    let backward = bytes[1].saturating_add(rank.gradient_sum());
    step("Input norm", Module::Norm, tensors).streams([bytes[0], backward], [kernels[0], kernels[1] + 1])
}

/// A projection of `columns` columns from the normed input; every tensor rank computes it whole.
fn down(rank: &Rank, name: &'static str, weight: &'static str, columns: Dim) -> Step {
    let mut tensors = vec![rank.weight(weight, [columns, rank.h()])];
    tensors.push(rank.alive("gradient of the compressed values", [rank.local_s(), rank.b(), columns]));
    tensors.push(rank.residual_gradient());
    tensors.extend(rank.weight_gradient(columns, rank.h()));
    tensors.push(rank.residual_gradient());
    step(name, Module::Rest, tensors).over(rank, rank.local_tokens())
}

/// A norm with an up projection: saves the compressed values, and normed.
fn up(rank: &Rank, name: &'static str, weight: &'static str, (stored, rank_width): (Dim, Dim), columns: Dim) -> Step {
    let mut tensors = vec![rank.weight(weight, [columns, rank_width])];
    rank.norm_weights(rank_width, &mut tensors);
    tensors.push(rank.saved("compressed values", [rank.local_s(), rank.b(), stored]));
    let normed = rank.saved("normed compressed values", [rank.local_s(), rank.b(), rank_width]);
    tensors.push(rank.droppable(normed, rank.options.recompute_modules.mla_up_proj));
    rank.statistics([rank.local_s(), rank.b()], &mut tensors);
    tensors.push(rank.alive("gradient of the projected values", [rank.s(), rank.b(), columns]));
    tensors.push(rank.alive("gradient of the compressed values", [rank.s(), rank.b(), rank_width]));
    tensors.extend(rank.weight_gradient(columns, rank_width));
    tensors.push(rank.residual_gradient());
    let (bytes, kernels) = Rank::norm_stream(rank.bytes(rank.local_tokens().saturating_mul(rank_width.1)));
    step(name, Module::LatentUp, tensors).over(rank, rank.tokens()).streams(bytes, kernels)
}

fn queries(rank: &Rank, mla: &Mla) -> Vec<Step> {
    let columns = Dim("query width on this rank", rank.heads().1.saturating_mul(mla.qk_head_dim()));
    match mla.q_lora_rank {
        Some(width) => {
            let compressed = Dim("q_lora_rank", width);
            vec![
                down(rank, "Query down projection", "query down weight", compressed),
                up(rank, "Query norm and up projection", "query up weight", (compressed, compressed), columns),
            ]
        }
        None => vec![down(rank, "Query projection", "query weight", columns)],
    }
}

/// The compressed keys and values share one storage with the rotated part of the key.
fn keys_and_values(rank: &Rank, mla: &Mla) -> Vec<Step> {
    let compressed = Dim("kv_lora_rank", mla.kv_lora_rank);
    let stored = Dim("kv_lora_rank + qk_rope_head_dim", mla.kv_lora_rank.saturating_add(mla.qk_rope_head_dim));
    let each = mla.qk_nope_head_dim.saturating_add(mla.v_head_dim);
    let columns = Dim("unrotated key and value width on this rank", rank.heads().1.saturating_mul(each));
    vec![
        down(rank, "Key and value down projection", "key and value down weight", stored),
        up(rank, "Key and value norm and up projection", "key and value up weight", (stored, compressed), columns),
    ]
}
