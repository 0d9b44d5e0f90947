//! `deepseek_v3` (transformers 5.23, `models/deepseek_v3`), also `kimi_k2`: latent attention,
//! shared experts beside those chosen by corrected sigmoids from the best groups.

use crate::models::prelude::*;

/// `deepseek_v3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek_v3", "kimi_k2", "telechat3", "telechat3_moe"],
    class: "DeepseekV3",
    labels: &[("deepseek_v3", "DeepSeek-V3"), ("kimi_k2", "Kimi K2")],
    modules: &Modules {
        model_type: "deepseek_v3",
        choice: FamilyChoice { rank: 17, word: "deepseek-v3", label: "DeepSeek-V3" },
        experts: ExpertModules { scores: RouterScores::CorrectedSigmoid, ..ExpertModules::PLAIN },
        tensor_plan: Some(TensorPlan { attention: Division::Whole, ..TensorPlan::PLAIN }),
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            latent: true,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([7168, 18_432], 61, 128, 129_280, 4096),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 2048,
        shared: 1,
        first_dense: 3,
        chosen_by: FROM_FIRST,
        groups: [8, 4],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 8)
    }),
    latent: Some(Latent { query_rank: 1536, rank: 512, rope: 64, nope: 128, value: 128 }),
    ..FamilySpec::PLAIN
};
