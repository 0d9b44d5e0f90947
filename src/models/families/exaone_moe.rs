//! `exaone_moe` (transformers 5.23, `models/exaone_moe`): llama's block with normed queries and
//! keys, a window in three of four layers, and DeepSeek-V3's experts behind the first dense layer.

use crate::models::prelude::*;

/// `exaone_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["exaone_moe"],
    class: "ExaoneMoe",
    labels: &[("exaone_moe", "EXAONE MoE")],
    modules: &Modules {
        model_type: "exaone_moe",
        choice: FamilyChoice { rank: 38, word: "exaone-moe", label: "EXAONE MoE" },
        rotated: RotatedLayers::Sliding,
        query_key_norm: QueryKeyNorm::AfterTransposing,
        experts: super::deepseek_v3::FAMILY.modules.experts,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            attention_bias: Some(false),
            output_bias_as_others: true,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    experts: Some(Experts {
        width: 1024,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(64, 8)
    }),
    ..super::exaone4::FAMILY
};
