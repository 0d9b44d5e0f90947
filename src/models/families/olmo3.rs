//! `olmo3` (transformers 5.23, `models/olmo3`): OLMo 2 with a window in three of four layers.

use crate::models::prelude::*;

/// `olmo3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmo3"],
    class: "Olmo3",
    labels: &[("olmo3", "OLMo 3")],
    modules: &Modules {
        model_type: "olmo3",
        choice: FamilyChoice { rank: 52, word: "olmo3", label: "OLMo 3" },
        tables_for_each_kind: true,
        measured: Modules::PLAIN.measured,
        ..*super::olmo2::FAMILY.modules
    },
    window: Window::AllButEvery { period: 4, window: 4096 },
    ..super::olmo2::FAMILY
};
