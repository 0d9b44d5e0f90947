//! `deepseek_v32` (transformers 5.23, `models/deepseek_v32`): DeepSeek-V3 with an indexer that
//! chooses the tokens which attention sees.

use crate::models::prelude::*;

/// `deepseek_v32`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek_v32"],
    class: "DeepseekV32",
    labels: &[("deepseek_v32", "DeepSeek-V3.2")],
    modules: &Modules {
        model_type: "deepseek_v32",
        choice: FamilyChoice { rank: 75, word: "deepseek-v32", label: "DeepSeek-V3.2" },
        experts: ExpertModules {
            corrects_in_fp32: true,
            ..super::deepseek_v3::FAMILY.modules.experts
        },
        takes_prefix: false,
        tensor_plan: None,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            latent: true,
            indexer: true,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..*super::deepseek_v3::FAMILY.modules
    },
    sizes: Sizes::of([7168, 18_432], 61, 128, 129_280, 163_840),
    indexer: Some([64, 128, 2048]),
    ..super::deepseek_v3::FAMILY
};
