//! `axk2` (transformers 5.23, `models/axk2`), A.X K2: DeepSeek-V3.2 with norms that narrow layers
//! gate, and a gate of attention that is made with the queries, of narrow queries before and behind
//! their norm.

use crate::models::prelude::*;

/// The modules that it takes after.
const LIKE: &Modules = super::deepseek_v32::FAMILY.modules;

/// `axk2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["axk2"],
    class: "AXK2",
    labels: &[("axk2", "A.X K2")],
    modules: &Modules {
        model_type: "axk2",
        choice: FamilyChoice { rank: 610, word: "axk2", label: "A.X K2" },
        experts: ExpertModules { one_group_is_none: true, ..LIKE.experts },
        gate: AttentionGate::WithLatentQueries,
        shape: match LIKE.shape {
            Some(shape) => Some(ShapeRule { gates_norms: true, ..shape }),
            None => None,
        },
        ..*LIKE
    },
    norm_gate: Some(("gated_norm_rank", 16)),
    sizes: Sizes::of([2048, 5120], 48, 32, 163_840, 131_072),
    indexer: Some([16, 128, 2048]),
    experts: Some(Experts {
        width: 512,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 8)
    }),
    latent: Some(Latent { query_rank: 384, rank: 128, rope: 32, nope: 64, value: 64 }),
    ..super::deepseek_v32::FAMILY
};
