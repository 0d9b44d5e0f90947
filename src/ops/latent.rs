//! Projections of latent attention, for serving and the paper's list.

use super::builder::{Lowering, workspace};
use super::tensor::{Dim, Kept, Op, Split, Tensor};
use crate::config::Mla;
use crate::sources;
use crate::units::Flops;

/// Queries, keys and values from narrow projections with a norm each (DeepSeek-V2, arXiv:2405.04434).
///
/// The narrow projections are the same on every tensor rank; those that widen into heads are split by heads.
pub(super) fn projections(with: &Lowering, mla: &Mla) -> Vec<Op> {
    let a = with.heads();
    let query = Dim("qk_head_dim", mla.qk_head_dim());
    let mut narrow = Vec::with_capacity(10);
    let mut wide = Vec::with_capacity(6);
    let mut flops = Flops(0.0);
    if let Some(rank) = mla.q_lora_rank {
        let rank = Dim("q_lora_rank", rank);
        compressed(with, "compressed queries", (rank, rank), &mut narrow);
        flops = flops + with.matrix_product(with.h().1, rank.1) + with.matrix_product(rank.1, a.1.saturating_mul(query.1));
    } else {
        flops = with.matrix_product(with.h().1, a.1.saturating_mul(query.1));
    }
    let rank = Dim("kv_lora_rank", mla.kv_lora_rank);
    let down = Dim("kv_lora_rank + qk_rope_head_dim", mla.kv_lora_rank.saturating_add(mla.qk_rope_head_dim));
    compressed(with, "compressed keys and values", (down, rank), &mut narrow);
    let up = Dim("qk_nope_head_dim + v_head_dim", mla.qk_nope_head_dim.saturating_add(mla.v_head_dim));
    flops = flops + with.matrix_product(with.h().1, down.1) + with.matrix_product(rank.1, a.1.saturating_mul(up.1));
    if with.training {
        narrow.push(with.hidden("projection input", Kept::Block));
    }
    let columns = Dim("q+k+v width", query.1.saturating_mul(2).saturating_add(mla.v_head_dim).saturating_mul(a.1));
    wide.push(workspace("queries, keys and values", [with.s(), with.b(), columns], Split::Tensor, with.activation));
    let op = |name, tensors, forward| Op { name, tensors, forward, attention_core: false, source: sources::ARITHMETIC };
    vec![op("Latent projections down", narrow, Flops(0.0)), op("Latent projections up", wide, flops)]
}

/// One narrow projection and the norm of its result; both its result before and after the norm are saved.
fn compressed(with: &Lowering, result: &'static str, (width, normed): (Dim, Dim), tensors: &mut Vec<Tensor>) {
    if with.training {
        tensors.push(with.saved(result, [with.s(), with.b(), width], Split::Replicated, Kept::Block));
        tensors.push(with.saved("normed", [with.s(), with.b(), normed], Split::Replicated, Kept::Block));
    }
}
