//! `gpt_oss` (transformers 5.23, `models/gpt_oss`): experts with biases and clamped gates in every
//! layer, sinks, every second layer sliding.

use crate::models::prelude::*;

/// `gpt_oss`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_oss"],
    class: "GptOss",
    gguf: Some(Gguf::of_experts(
        "gpt_oss",
        "gpt-oss",
        &[
            ("expert_count", "num_local_experts"),
            ("expert_used_count", "num_experts_per_tok"),
            ("expert_feed_forward_length", "intermediate_size"),
            ("attention.sliding_window", "sliding_window"),
        ],
    )),
    labels: &[("gpt_oss", "gpt-oss")],
    modules: &Modules {
        model_type: "gpt_oss",
        choice: FamilyChoice { rank: 18, word: "gpt-oss", label: "gpt-oss" },
        norm: NormStyle::ScaledInFp32,
        rotary_tables: RotaryTables::Halves,
        experts: ExpertModules {
            scores: RouterScores::SoftmaxOfPicked,
            router_first: true,
            returns_weights: true,
            clamps_gates: true,
            ..ExpertModules::PLAIN
        },
        tensor_plan: None,
        shape: Some(ShapeRule { experts: ExpertsRule::Always, sinks: true, ..ShapeRule::PLAIN }),
        measured: Measured { fused_kernels: true, ..Modules::PLAIN.measured },
        slots_of_joint_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2880, 2880], 36, 64, 201_088, 131_072).kv(8).head(64),
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_bias", true),
    window: Window::AllButEvery { period: 2, window: 128 },
    experts: Some(Experts { norm_topk: Flag::Is(false), bias: true, ..Experts::of(128, 4) }),
    sinks: true,
    ..FamilySpec::PLAIN
};
