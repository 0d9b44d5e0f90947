//! `vaultgemma` (transformers 5.23, `models/vaultgemma`): Gemma 2 without the norms behind each
//! half.

use crate::models::prelude::*;

/// `vaultgemma`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["vaultgemma"],
    class: "VaultGemma",
    labels: &[("vaultgemma", "VaultGemma")],
    modules: &Modules {
        model_type: "vaultgemma",
        choice: FamilyChoice { rank: 32, word: "vaultgemma", label: "VaultGemma" },
        measured: Modules::PLAIN.measured,
        ..*super::gemma::FAMILY.modules
    },
    norms: Norms::Are(2),
    ..super::gemma2::FAMILY
};
