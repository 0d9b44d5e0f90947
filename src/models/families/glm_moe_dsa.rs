//! `glm_moe_dsa` (transformers 5.23, `models/glm_moe_dsa`), GLM-5: DeepSeek-V3.2 in other sizes,
//! with layers that see the tokens which an earlier one has chosen.

use crate::models::prelude::*;

/// `glm_moe_dsa`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm_moe_dsa"],
    class: "GlmMoeDsa",
    labels: &[("glm_moe_dsa", "GLM-5")],
    modules: &Modules {
        model_type: "glm_moe_dsa",
        choice: FamilyChoice { rank: 76, word: "glm-moe-dsa", label: "GLM-5" },
        index_rotation: IndexRotation::Pairs,
        shares_indexed_tokens: true,
        ..*super::deepseek_v32::FAMILY.modules
    },
    sizes: Sizes::of([6144, 12_288], 78, 64, 154_880, 202_752),
    experts: Some(Experts {
        width: 2048,
        shared: 1,
        first_dense: 3,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 8)
    }),
    latent: Some(Latent { query_rank: 2048, rank: 512, rope: 64, nope: 192, value: 256 }),
    indexer: Some([32, 128, 2048]),
    ..super::deepseek_v32::FAMILY
};
