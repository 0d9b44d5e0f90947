//! `hunyuan_v1_moe` (transformers 5.23, `models/hunyuan_v1_moe`): llama's block with queries and
//! keys normed after they are rotated; in every layer experts chosen by a router in fp32, and a
//! shared one.

use crate::models::prelude::*;

/// `hunyuan_v1_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hunyuan_v1_moe"],
    class: "HunYuanMoEV1",
    labels: &[("hunyuan_v1_moe", "Hunyuan MoE")],
    modules: &Modules {
        model_type: "hunyuan_v1_moe",
        choice: FamilyChoice { rank: 28, word: "hunyuan-moe", label: "Hunyuan MoE" },
        query_key_norm: QueryKeyNorm::AfterRotation,
        experts: ExpertModules {
            router_weights: RouterWeights::Fp32,
            router_first: true,
            shared_turn: SharedTurn::First,
            routes_without_groups: true,
            ..ExpertModules::PLAIN
        },
        tensor_plan: Some(TensorPlan { attention: Division::Whole, feed_forward: Division::Whole }),
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            output_bias_as_others: true,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    experts: Some(Experts { shared: 1, ..Experts::of(1, 1) }),
    ..super::hunyuan_v1_dense::FAMILY
};
