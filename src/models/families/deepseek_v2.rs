//! `deepseek_v2` (transformers 5.23, `models/deepseek_v2`): latent attention rotated by complex
//! numbers, shared experts beside those a softmax chooses.

use crate::models::prelude::*;

/// `deepseek_v2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek_v2"],
    class: "DeepseekV2",
    labels: &[("deepseek_v2", "DeepSeek-V2")],
    modules: &Modules {
        model_type: "deepseek_v2",
        choice: FamilyChoice { rank: 16, word: "deepseek-v2", label: "DeepSeek-V2" },
        rotary_tables: RotaryTables::Complex,
        experts: ExpertModules { ignores_norm_topk_prob: true, ..ExpertModules::PLAIN },
        tensor_plan: Some(TensorPlan::PLAIN),
        ..*super::deepseek_v3::FAMILY.modules
    },
    sizes: Sizes::of([4096, 11_008], 32, 32, 102_400, 2048),
    experts: Some(Experts {
        width: 1407,
        shared: 2,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", false),
        as_published: true,
        ..Experts::of(64, 6)
    }),
    mlp_bias: Flag::Key("mlp_bias", false),
    ..super::deepseek_v3::FAMILY
};
