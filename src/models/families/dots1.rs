//! `dots1` (transformers 5.23, `models/dots1`), dots.llm1: Qwen3's attention with DeepSeek-V3's
//! experts.

use crate::models::prelude::*;

/// `dots1`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["dots1"],
    class: "Dots1",
    labels: &[("dots1", "dots.llm1")],
    modules: &Modules {
        model_type: "dots1",
        choice: FamilyChoice { rank: 36, word: "dots1", label: "dots.llm1" },
        experts: super::deepseek_v3::FAMILY.modules.experts,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            output_bias_as_others: true,
            ..ShapeRule::PLAIN
        }),
        measured: Modules::PLAIN.measured,
        peft_finds_experts: true,
        slots_at_both_ends: false,
        ..*super::qwen3::FAMILY.modules
    },
    sizes: Sizes::of([4608, 10_944], 62, 32, 152_064, 2048).kv(32),
    window: Window::FromStated { window: 4096, first: 62 },
    experts: Some(Experts {
        width: 1408,
        may_share: true,
        chosen_by: &["first_k_dense_replace"],
        norm_topk: Flag::Key("norm_topk_prob", false),
        ..Experts::of(0, 0)
    }),
    ..super::qwen3::FAMILY
};
