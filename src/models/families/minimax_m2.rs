//! `minimax_m2` (transformers 5.23, `models/minimax_m2`): experts in every layer, normed queries and keys.

use crate::models::prelude::*;

/// `minimax_m2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minimax_m2"],
    class: "MiniMaxM2",
    labels: &[("minimax_m2", "MiniMax-M2")],
    // All its layers have full attention.
    not_looked_at: &["attn_type_list", "qk_norm_type"],
    // Its norms of queries and keys span all heads, here each head: a few thousand parameters fewer.
    sizes: Sizes::of([3072, 1536], 62, 48, 200_064, 196_608).kv(8).head(128),
    qk_norm: Flag::Is(true),
    experts: Some(Experts::of(256, 8)),
    ..FamilySpec::PLAIN
};
