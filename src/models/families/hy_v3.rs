//! `hy_v3` (transformers 5.23, `models/hy_v3`), Hunyuan 3: llama's block with normed queries and
//! keys; behind the first dense layer experts chosen by corrected sigmoids, and a shared one.

use crate::models::prelude::*;

/// `hy_v3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hy_v3"],
    class: "HYV3",
    labels: &[("hy_v3", "Hunyuan 3")],
    modules: &Modules {
        model_type: "hy_v3",
        choice: FamilyChoice { rank: 39, word: "hy-v3", label: "Hunyuan 3" },
        query_key_norm: QueryKeyNorm::AfterTransposing,
        experts: ExpertModules { router_first: true, ..super::deepseek_v3::FAMILY.modules.experts },
        shape: Some(ShapeRule { experts: ExpertsRule::Optional, ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 13_312], 80, 64, 120_832, 131_072).kv(8).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    qk_norm: Flag::Is(true),
    experts: Some(Experts {
        width: 1536,
        shared: 1,
        first_dense: 1,
        chosen_by: &["mlp_layer_types", "first_k_dense_replace"],
        ..Experts::of(192, 8)
    }),
    ..FamilySpec::PLAIN
};
