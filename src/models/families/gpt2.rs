//! `gpt2` (transformers 5.23, `models/gpt2`): one projection for queries, keys and values, in layers that keep their weights
//! transposed (`Conv1D`).

use crate::models::prelude::*;

/// `gpt2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt2", "gpt-sw3"],
    class: "GPT2",
    labels: &[("gpt2", "GPT-2")],
    inner: InnerWidth::Stated(&["intermediate_size", "n_inner"]),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    family: Family::Gpt2,
    sizes: Sizes::of([768, 0], 12, 12, 50_257, 1024),
    act: HiddenAct::GeluNew,
    positions: LEARNED,
    tied: true,
    ..FamilySpec::CLASSIC
};
