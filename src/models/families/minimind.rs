//! `minimind` (code of its own on the hub, `jingyaogong/MiniMind2`): llama under older names of its
//! sizes; both ends are always tied.

use crate::models::prelude::*;

/// `minimind`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minimind"],
    class: "MiniMind",
    saved_with: &["MiniMindLM"],
    labels: &[("minimind", "MiniMind")],
    older_names: true,
    inner: InnerWidth::Stated(&["intermediate_size", "hidden_dim"]),
    sizes: Sizes::of([512, 0], 8, 8, 6400, 8192).kv(2),
    tied: true,
    only: &[Only::else_refused("use_moe", &["false"], "experts")],
    // These keys count only where there are experts.
    not_looked_at: &["n_routed_experts", "n_shared_experts", "num_experts_per_tok", "multiple_of"],
    ..FamilySpec::PLAIN
};
