//! `bailing_moe` (code of its own on the hub, `inclusionAI/Ling-lite`): llama's attention with one
//! matrix for queries, keys and values; experts beside shared ones.

use crate::models::prelude::*;

/// `bailing_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bailing_moe"],
    class: "BailingMoe",
    predicts_further: true,
    labels: &[("bailing_moe", "Ling")],
    sizes: Sizes::of([1024, 2816], 24, 16, 30_592, 16_384),
    attention_bias: Flag::Key("use_qkv_bias", false),
    output_bias: Flag::Key("use_bias", true),
    mlp_bias: Flag::Key("use_bias", true),
    experts: Some(Experts {
        width_is_inner: false,
        may_share: true,
        chosen_by: &["first_k_dense_replace"],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(16, 2)
    }),
    // The head's weight is normed, which adds no parameter.
    not_looked_at: &["norm_head"],
    only: &[Only {
        key: "multi_gate",
        values: &["false"],
        otherwise: Otherwise::NotCounted,
        unless: None,
    }],
    ..FamilySpec::PLAIN
};
