//! `codeshell` (code of its own on the hub, `WisdomShell/CodeShell-7B`): GPT-2's block with rotary
//! positions and few key/value heads.

use crate::models::prelude::*;

/// `codeshell`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["codeshell"],
    class: "CodeShell",
    older_names: true,
    sizes: Sizes::of([4096, 0], 42, 32, 70_144, 8192),
    tied: true,
    not_looked_at: &["position_embedding_type", "group_query_attention"],
    ..FamilySpec::CLASSIC
};
