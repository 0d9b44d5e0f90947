//! `flex_olmo` (transformers 5.23, `models/flex_olmo`): OLMo 2 with experts in every layer.

use crate::models::prelude::*;

/// `flex_olmo`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["flex_olmo"],
    class: "FlexOlmo",
    labels: &[("flex_olmo", "FlexOlmo")],
    modules: &Modules {
        model_type: "flex_olmo",
        choice: FamilyChoice { rank: 42, word: "flex-olmo", label: "FlexOlmo" },
        experts: super::olmoe::FAMILY.modules.experts,
        shape: Some(ShapeRule { experts: ExpertsRule::Always, ..ShapeRule::PLAIN }),
        measured: Modules::PLAIN.measured,
        peft_finds_experts: true,
        ..*super::olmo2::FAMILY.modules
    },
    sizes: Sizes::of([4096, 11_008], 32, 32, 100_352, 4096),
    experts: Some(Experts { norm_topk: Flag::Key("norm_topk_prob", false), ..Experts::of(7, 5) }),
    ..super::olmo2::FAMILY
};
