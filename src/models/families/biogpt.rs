//! `biogpt` (transformers 5.23, `models/biogpt`): OPT's block with a scaled embedding.

use crate::models::prelude::*;

/// `biogpt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["biogpt"],
    class: "BioGpt",
    labels: &[("biogpt", "BioGPT")],
    modules: &Modules {
        model_type: "biogpt",
        choice: FamilyChoice { rank: 41, word: "biogpt", label: "BioGPT" },
        embedding_scale: EmbeddingScale::Number,
        position_ids: PositionIds::BesideMask,
        scales_queries: false,
        softmax_in_fp32: false,
        norms_follow_without_final: false,
        shape: Some(ShapeRule {
            attention_bias: Some(true),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..*super::opt::FAMILY.modules
    },
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([1024, 4096], 24, 16, 42_384, 1024),
    positions: Positions::LearnedPlus(2),
    tied: true,
    ..FamilySpec::CLASSIC
};
