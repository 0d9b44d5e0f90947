//! `minimax_m2` (transformers 5.23, `models/minimax_m2`): llama's block with part of each head
//! rotated, queries and keys normed over all heads together, and experts chosen by corrected
//! sigmoids in every layer.

use crate::models::prelude::*;

/// `minimax_m2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minimax_m2"],
    class: "MiniMaxM2",
    labels: &[("minimax_m2", "MiniMax-M2")],
    // All its layers have full attention.
    not_looked_at: &["attn_type_list", "qk_norm_type"],
    modules: &Modules {
        model_type: "minimax_m2",
        choice: FamilyChoice { rank: 26, word: "minimax-m2", label: "MiniMax-M2" },
        query_key_norm: QueryKeyNorm::AllHeadsTogether,
        rotation: RotationStyle::Joined,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoid,
            weights_in: ExpertWeights::Fp32,
            router_first: true,
            ..ExpertModules::PLAIN
        },
        tensor_plan: Some(TensorPlan { attention: Division::Gathered, ..TensorPlan::PLAIN }),
        shape: Some(ShapeRule { experts: ExpertsRule::Always, ..ShapeRule::PLAIN }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([3072, 1536], 62, 48, 200_064, 196_608).kv(8).head(128),
    qk_norm: Flag::Is(true),
    experts: Some(Experts::of(256, 8)),
    ..FamilySpec::PLAIN
};
