//! `dbrx` (code of its own on the hub, `databricks/dbrx-base`): one matrix for queries, keys and
//! values, norms without a bias, experts in every layer.

use crate::models::prelude::*;

/// `dbrx`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["dbrx"],
    class: "Dbrx",
    labels: &[("dbrx", "DBRX")],
    older_names: true,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_hidden_size"]),
    sizes: Sizes::of([2048, 3584], 24, 16, 32_000, 2048).kv(1),
    experts: Some(Experts::of(4, 1)),
    not_looked_at: &["ffn_act_fn", "clip_qkv"],
    ..FamilySpec::PLAIN
};
