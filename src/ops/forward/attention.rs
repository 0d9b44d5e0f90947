//! The attention half of a block: norm, projections, scores, output.

use super::{Forward, ends, latent, state, streams};
use crate::config::{AttentionKernel, Keys, LayerKind};
use crate::ops::tensor::{Dim, Kept, Split};
use crate::sources;
use crate::units::DType;

/// From the block's input to the first residual sum: attention, a state, or both side by side.
pub(super) fn first_half(on: &Forward<'_, '_>, kind: LayerKind) {
    let model = on.with.model;
    if on.with.training {
        // It is saved in any case, as the checkpoint under full recomputation.
        on.at("Block input", sources::KORTHIKANTI_2022);
        on.saves_hidden("block input", Kept::BlockInput);
    }
    if let Some(altup) = model.altup() {
        streams::beside(on, altup);
    }
    let mixer = model.mixer().filter(|_| kind.mixer);
    if model.norms_per_block >= 1 && (mixer.is_some() || kind.keys != Keys::None) {
        ends::norm(on, "Input norm", None);
    }
    if let Some(mixer) = mixer {
        state::run(on, mixer);
    }
    if kind.keys != Keys::None {
        attention(on, kind.keys);
    }
    if model.norms_per_block >= 3 {
        ends::norm(on, "Norm behind attention", Some(("projected output", Kept::Block)));
    }
}

/// From projections to output.
fn attention(on: &Forward<'_, '_>, keys: Keys) {
    match &on.with.model.mla {
        Some(mla) => latent::projections(on, mla),
        None => projections(on, keys),
    }
    if on.with.model.qk_norm {
        qk_norm(on);
    }
    match on.with.attention {
        AttentionKernel::Standard => standard_core(on),
        AttentionKernel::Flash => flash_core(on),
    }
    output_projection(on);
}

/// Query, key and value projections, with a gate as wide as the queries where there is one; the normed input is saved once for all.
fn projections(on: &Forward<'_, '_>, keys: Keys) {
    let with = on.with;
    on.at("Query, key and value projection", sources::KORTHIKANTI_2022);
    let (heads, kv, d) = (with.heads(), with.kv_heads(), with.head_dim());
    on.saves_hidden("projection input", Kept::Block);
    let queries = heads.1.saturating_mul(if with.model.gates_attention() { 2 } else { 1 });
    let of_each = match keys {
        Keys::Own => d.1.saturating_add(with.value_dim().1),
        Keys::Joint => d.1,
        Keys::Shared | Keys::None => 0,
    };
    let columns = queries.saturating_mul(d.1).saturating_add(kv.1.saturating_mul(of_each));
    let dims = [with.s(), with.b(), Dim("q+k+v width", columns)];
    on.takes("queries, keys and values", dims, Split::Tensor, with.activation);
}

/// Norms over queries and keys: inputs and one fp32 value per head and token are saved.
fn qk_norm(on: &Forward<'_, '_>) {
    let with = on.with;
    on.at("Query and key norm", sources::FUSED_KERNELS);
    for (name, statistic, heads) in
        [("unnormed queries", "query norm statistic", with.heads()), ("unnormed keys", "key norm statistic", with.kv_heads())]
    {
        let place = (Split::Heads(heads.1), Kept::Block);
        on.saves(name, [with.s(), with.b(), heads, with.head_dim()], place);
        on.saves_as(statistic, [with.s(), with.b(), heads], place, DType::Fp32);
    }
}

/// Saves queries, keys or values as the attention core reads them.
fn saves_heads(on: &Forward<'_, '_>, name: &'static str, heads: Dim, width: Dim) {
    on.saves(name, [on.with.s(), on.with.b(), heads, width], (Split::Heads(heads.1), Kept::Block));
}

/// `FlashAttention`: no scores in memory; queries, keys, values, output and one fp32 log-sum-exp per query and head are saved.
fn flash_core(on: &Forward<'_, '_>) {
    let with = on.with;
    let (queries, keys, d) = (with.heads(), with.kv_heads(), with.head_dim());
    on.at("Attention core (FlashAttention)", sources::FLASH_ATTENTION_2022);
    saves_heads(on, "queries", queries, d);
    saves_heads(on, "keys", keys, d);
    saves_heads(on, "values", keys, with.value_dim());
    on.saves_as("log-sum-exp", [with.s(), with.b(), queries], (Split::Heads(queries.1), Kept::Block), DType::Fp32);
}

/// Scores, softmax, dropout and values, with scores written to memory.
///
/// In the list of Korthikanti et al. probabilities, dropout mask and dropout output take `5·a·s²·b` bytes in 16 bit. Served, the
/// scores stand in fp32.
fn standard_core(on: &Forward<'_, '_>) {
    let with = on.with;
    let (queries, keys) = (with.heads(), with.kv_heads());
    let dims = [with.b(), queries, with.s(), Dim("context_length", with.context_length)];
    let place = (Split::Heads(queries.1), Kept::AttentionCore);
    on.at("Scores", sources::KORTHIKANTI_2022);
    saves_heads(on, "queries", queries, with.head_dim());
    saves_heads(on, "keys", keys, with.head_dim());
    if with.training {
        on.at("Softmax", sources::KORTHIKANTI_2022);
        on.saves("probabilities", dims, place);
        on.at("Attention dropout", sources::KORTHIKANTI_2022);
        on.saves_as("attention dropout mask", dims, place, DType::Mask);
    } else {
        on.takes("scores", dims, place.0, DType::Fp32);
    }
    on.at("Attention over values", sources::KORTHIKANTI_2022);
    on.saves("probabilities after dropout", dims, place);
    saves_heads(on, "values", keys, with.value_dim());
}

/// Output projection: the attention output and a dropout mask are saved.
fn output_projection(on: &Forward<'_, '_>) {
    let with = on.with;
    on.at("Output projection", sources::KORTHIKANTI_2022);
    saves_heads(on, "attention output", with.heads(), with.value_dim());
    on.saves_mask("output dropout mask", Kept::Block);
    on.takes("projected output", on.hidden(), Split::Replicated, with.activation);
}
