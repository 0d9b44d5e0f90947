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
        choice: FamilyChoice { rank: 905, word: "olmo", label: "OLMo" },
        norm: NormStyle::LayerOfFp32,
        query_key_norm: QueryKeyNorm::OnceAllAreMade,
        rotary_tables: RotaryTables::InFp32,
        shape: Some(ShapeRule {
            normalization: Some(Normalization::LayerNorm),
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    normalization: Normalization::LayerNorm,
    qk_norm: Flag::Is(false),
    ..super::olmo2::FAMILY
};
