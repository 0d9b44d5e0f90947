//! `glm4_moe` (transformers 5.23, `models/glm4_moe`): GLM-4.5, with experts and a shared one behind the first dense layers.

use crate::models::prelude::*;

/// `glm4_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4_moe"],
    class: "Glm4Moe",
    labels: &[("glm4_moe", "GLM-4.5")],
    family: Family::Generic,
    sizes: Sizes::of([4096, 10_944], 46, 96, 151_552, 131_072).kv(8),
    attention_bias: ATTENTION_BIAS,
    qk_norm: Flag::Key("use_qk_norm", false),
    norms: Norms::Are(2),
    experts: Some(Experts {
        width: 1408,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 8)
    }),
    ..super::glm4::FAMILY
};
