//! `mbart` (transformers 5.23, `models/mbart`): BART with norms before each part, and one behind
//! each stack.

use crate::models::prelude::*;

/// `mbart`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mbart"],
    class: "MBart",
    labels: &[("mbart", "mBART")],
    modules: &Modules {
        model_type: "mbart",
        choice: FamilyChoice { rank: 141, word: "mbart", label: "mBART" },
        ..*super::bart::FAMILY.modules
    },
    final_norm: true,
    sizes: Sizes::of([1024, 4096], 12, 16, 50_265, 1024),
    not_looked_at: &["encoder_layerdrop", "decoder_layerdrop", "add_final_layer_norm"],
    ..super::bart::FAMILY
};
