//! `glm4_moe_lite` (transformers 5.23, `models/glm4_moe_lite`), GLM-4.7-Flash: DeepSeek-V3's latent
//! attention with GLM-4.5's experts.

use crate::models::prelude::*;

/// `glm4_moe_lite`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm4_moe_lite"],
    class: "Glm4MoeLite",
    labels: &[("glm4_moe_lite", "GLM-4.7-Flash")],
    modules: &Modules {
        model_type: "glm4_moe_lite",
        choice: FamilyChoice { rank: 33, word: "glm4-moe-lite", label: "GLM-4.7-Flash" },
        experts: super::glm4_moe::FAMILY.modules.experts,
        ..*super::deepseek_v3::FAMILY.modules
    },
    sizes: Sizes::of([2048, 10_240], 47, 20, 154_880, 202_752),
    experts: Some(Experts {
        width: 1536,
        shared: 1,
        first_dense: 1,
        chosen_by: &["mlp_layer_types", "first_k_dense_replace"],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(64, 4)
    }),
    latent: Some(Latent { query_rank: 768, rank: 512, rope: 64, nope: 192, value: 256 }),
    ..super::deepseek_v3::FAMILY
};
