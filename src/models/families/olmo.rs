//! `olmo` (transformers 5.23, `models/olmo`): llama's shape with layer norms that have no
//! parameters.

use crate::models::prelude::*;

/// `olmo`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmo"],
    class: "Olmo",
    labels: &[("olmo", "OLMo")],
    modules: &Modules::GENERIC,
    qk_norm: Flag::Is(false),
    // Its layer norms have no parameters.
    norms: Norms::Are(0),
    final_norm: false,
    ..super::olmo2::FAMILY
};
