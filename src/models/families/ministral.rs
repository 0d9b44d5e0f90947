//! `ministral` (transformers 5.23, `models/ministral`): Mistral with a window in the layers that
//! its file lists.

use crate::models::prelude::*;

/// `ministral`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ministral"],
    class: "Ministral",
    modules: &Modules {
        model_type: "ministral",
        choice: FamilyChoice { rank: 185, word: "ministral", label: "Ministral" },
        measured: Modules::PLAIN.measured,
        mask_for_each_kind: true,
        ..*super::mistral::FAMILY.modules
    },
    window: Window::Listed(4096),
    ..super::mistral::FAMILY
};
