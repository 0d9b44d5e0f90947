//! `axk1` (transformers 5.23, `models/axk1`), A.X-K1: DeepSeek-V3 with a norm behind each layer's
//! experts.

use crate::models::prelude::*;

/// `axk1`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["axk1"],
    class: "AXK1",
    labels: &[("axk1", "A.X-K1")],
    modules: &Modules {
        model_type: "axk1",
        choice: FamilyChoice { rank: 71, word: "axk1", label: "A.X-K1" },
        experts: ExpertModules { norms_output: true, ..super::deepseek_v3::FAMILY.modules.experts },
        peft_finds_experts: false,
        ..*super::deepseek_v3::FAMILY.modules
    },
    sizes: Sizes::of([7168, 18_432], 61, 64, 163_840, 32_768),
    experts: Some(Experts {
        width: 2048,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        groups: [8, 4],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(192, 8)
    }),
    ..super::deepseek_v3::FAMILY
};
