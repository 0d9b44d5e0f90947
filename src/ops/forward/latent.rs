//! Projections of latent attention.

use super::Forward;
use crate::config::Mla;
use crate::ops::tensor::{Dim, Kept, Split};
use crate::sources;

/// Queries, keys and values from narrow projections with a norm each (DeepSeek-V2, arXiv:2405.04434).
///
/// The narrow projections are the same on every tensor rank; those that widen into heads are split by heads.
pub(super) fn projections(on: &Forward<'_, '_>, mla: &Mla) {
    let (with, a) = (on.with, on.with.heads());
    let rank = Dim("kv_lora_rank", mla.kv_lora_rank);
    let down = Dim("kv_lora_rank + qk_rope_head_dim", mla.kv_lora_rank.saturating_add(mla.qk_rope_head_dim));
    on.at("Latent projections down", sources::ARITHMETIC);
    if let Some(rank) = mla.q_lora_rank.map(|rank| Dim("q_lora_rank", rank)) {
        compressed(on, "compressed queries", (rank, rank));
    }
    compressed(on, "compressed keys and values", (down, rank));
    on.saves_hidden("projection input", Kept::Block);
    on.at("Latent projections up", sources::ARITHMETIC);
    let columns = Dim("q+k+v width", mla.qk_head_dim().saturating_mul(2).saturating_add(mla.v_head_dim).saturating_mul(a.1));
    on.takes("queries, keys and values", [with.s(), with.b(), columns], Split::Tensor, with.activation);
}

/// One narrow projection and the norm of its result; both its result before and after the norm are saved.
fn compressed(on: &Forward<'_, '_>, result: &'static str, (width, normed): (Dim, Dim)) {
    let place = (Split::Replicated, Kept::Block);
    on.saves(result, [on.with.s(), on.with.b(), width], place);
    on.saves("normed", [on.with.s(), on.with.b(), normed], place);
}
