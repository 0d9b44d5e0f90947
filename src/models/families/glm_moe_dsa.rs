//! `glm_moe_dsa` (transformers 5.23, `models/glm_moe_dsa`): DeepSeek-V3's parts in GLM-5's sizes, with an indexer, which is
//! named as not counted.

use crate::models::prelude::*;

/// `glm_moe_dsa`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm_moe_dsa"],
    class: "GlmMoeDsa",
    labels: &[("glm_moe_dsa", "GLM-5")],
    family: Family::Generic,
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
    never_counted: INDEXER,
    ..super::deepseek_v3::FAMILY
};
