//! `olmoe` (transformers 5.23, `models/olmoe`): llama's block with experts in every layer, queries
//! and keys normed over all heads together.

use crate::models::prelude::*;

/// `olmoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmoe"],
    class: "Olmoe",
    labels: &[("olmoe", "OLMoE")],
    modules: &Modules {
        model_type: "olmoe",
        choice: FamilyChoice { rank: 25, word: "olmoe", label: "OLMoE" },
        query_key_norm: QueryKeyNorm::AllHeadsTogether,
        experts: ExpertModules { router_first: true, ..ExpertModules::PLAIN },
        tensor_plan: Some(TensorPlan { attention: Division::Gathered, ..TensorPlan::PLAIN }),
        shape: Some(ShapeRule { experts: ExpertsRule::Always, ..ShapeRule::PLAIN }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2048, 2048], 16, 16, 50_304, 4096),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    experts: Some(Experts { norm_topk: Flag::Key("norm_topk_prob", false), ..Experts::of(64, 8) }),
    ..FamilySpec::PLAIN
};
