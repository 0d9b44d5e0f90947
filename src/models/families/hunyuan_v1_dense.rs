//! `hunyuan_v1_dense` (transformers 5.23, `models/hunyuan_v1_dense`): llama's shape with normed
//! queries and keys.

use crate::models::prelude::*;

/// `hunyuan_v1_dense`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hunyuan_v1_dense"],
    class: "HunYuanDenseV1",
    modules: &Modules {
        model_type: "hunyuan_v1_dense",
        choice: FamilyChoice { rank: 50, word: "hunyuan-dense", label: "Hunyuan" },
        query_key_norm: QueryKeyNorm::AfterRotation,
        tensor_plan: Some(TensorPlan { attention: Division::Whole, feed_forward: Division::Whole }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 11_008], 32, 32, 290_943, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    ..FamilySpec::PLAIN
};
