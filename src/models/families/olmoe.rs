//! `olmoe` (transformers 5.23, `models/olmoe`): experts in every layer, normed queries and keys.

use crate::models::prelude::*;

/// `olmoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmoe"],
    class: "Olmoe",
    labels: &[("olmoe", "OLMoE")],
    // Its norms of queries and keys span all heads, here each head: a few thousand parameters fewer.
    sizes: Sizes::of([2048, 2048], 16, 16, 50_304, 4096),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    experts: Some(Experts { norm_topk: Flag::Key("norm_topk_prob", false), ..Experts::of(64, 8) }),
    ..FamilySpec::PLAIN
};
