//! `solar_open` (transformers 5.23, `models/solar_open`): experts and a shared one in every layer.

use crate::models::prelude::*;

/// `solar_open`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["solar_open"],
    class: "SolarOpen",
    modules: &Modules {
        model_type: "solar_open",
        choice: FamilyChoice { rank: 51, word: "solar-open", label: "Solar Open" },
        experts: super::glm4_moe::FAMILY.modules.experts,
        shape: Some(ShapeRule { experts: ExpertsRule::Optional, ..ShapeRule::PLAIN }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 10_240], 48, 64, 196_608, 131_072).kv(8).head(128),
    attention_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 1280,
        shared: 1,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 8)
    }),
    ..FamilySpec::PLAIN
};
