//! `qwen3_next` (transformers 5.23, `models/qwen3_next`): three of four layers keep a state by the
//! gated delta rule, attention has a gate, experts everywhere.

use crate::models::prelude::*;

/// `qwen3_next`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["qwen3_next"],
    class: "Qwen3Next",
    labels: &[("qwen3_next", "Qwen3-Next")],
    modules: &Modules {
        model_type: "qwen3_next",
        choice: FamilyChoice { rank: 601, word: "qwen3-next", label: "Qwen3-Next" },
        norm: NormStyle::OnePlusScale,
        experts: ExpertModules { router_first: true, ..super::qwen3::FAMILY.modules.experts },
        state_projections: StateProjections::ByKeyHead,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        measured: Modules::PLAIN.measured,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Any,
            states: &[MixerKind::Qwen3Next],
            gates_attention: true,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        slots_at_both_ends: false,
        ..*super::qwen3::FAMILY.modules
    },
    sizes: Sizes::of([2048, 5632], 48, 16, 151_936, 32_768).kv(2).head(256),
    rotary_percent: 25.0,
    window: Window::None,
    experts: Some(Experts {
        width: 512,
        shared_width: 512,
        shared_gate: true,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(512, 10)
    }),
    states: Some(States {
        gate: true,
        prefix: "linear_",
        ..States::of(MixerKind::Qwen3Next, Attends::Every(4), [32, 128, 16, 128, 4])
    }),
    ..super::qwen3::FAMILY
};
