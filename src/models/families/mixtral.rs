//! `mixtral` (transformers 5.23, `models/mixtral`): Mistral with experts in every layer.

use crate::models::prelude::*;

/// `mixtral`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mixtral"],
    class: "Mixtral",
    gguf: Some(Gguf::of_experts(
        "mixtral",
        "llama",
        &[("expert_count", "num_local_experts"), ("expert_used_count", "num_experts_per_tok")],
    )),
    modules: &Modules {
        model_type: "mixtral",
        choice: FamilyChoice { rank: 14, word: "mixtral", label: "Mixtral" },
        mask_for_each_kind: false,
        experts: ExpertModules {
            weights_in: ExpertWeights::Fp32,
            router_first: true,
            ..ExpertModules::PLAIN
        },
        shape: Some(ShapeRule { experts: ExpertsRule::Always, ..ShapeRule::PLAIN }),
        measured: Measured { tensor_parallel: false, ..super::mistral::FAMILY.modules.measured },
        peft_finds_experts: true,
        ..*super::mistral::FAMILY.modules
    },
    window: Window::All(0),
    experts: Some(Experts::of(8, 2)),
    ..super::mistral::FAMILY
};
