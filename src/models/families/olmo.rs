//! `olmo` (transformers 5.23, `models/olmo`): llama's shape with layer norms that have no
//! parameters.

use crate::models::prelude::*;

/// `olmo`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmo"],
    class: "Olmo",
    labels: &[("olmo", "OLMo")],
    modules: &Modules {
        model_type: "olmo",
        choice: FamilyChoice { rank: 188, word: "olmo", label: "OLMo" },
        norm: NormStyle::LayerWithoutParameters,
        rotary_tables: RotaryTables::InFp32,
        ..Modules::PLAIN
    },
    qk_norm: Flag::Is(false),
    ..super::olmo2::FAMILY
};
