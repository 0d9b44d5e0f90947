//! `glm4_moe` (transformers 5.23, `models/glm4_moe`), GLM-4.5: llama's block with half of each head
//! rotated; behind the first dense layers DeepSeek-V3's experts.

use crate::models::prelude::*;

/// `glm4_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4_moe"],
    class: "Glm4Moe",
    labels: &[("glm4_moe", "GLM-4.5")],
    modules: &Modules {
        model_type: "glm4_moe",
        choice: FamilyChoice { rank: 27, word: "glm4-moe", label: "GLM-4.5" },
        rotation: RotationStyle::Joined,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoid,
            corrects_in_fp32: true,
            ..ExpertModules::PLAIN
        },
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 10_944], 46, 96, 151_552, 131_072).kv(8),
    rounds_heads_down: true,
    attention_bias: ATTENTION_BIAS,
    qk_norm: Flag::Key("use_qk_norm", false),
    norms: Norms::Are(2),
    experts: Some(Experts {
        width: 1408,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 8)
    }),
    ..super::glm4::FAMILY
};
