//! `olmo2` (transformers 5.23, `models/olmo2`): norms behind each half only, queries and keys
//! normed over all heads together.

use crate::models::prelude::*;

/// `olmo2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmo2"],
    class: "Olmo2",
    gguf: Some(Gguf::of("olmo2", "olmo2")),
    labels: &[("olmo2", "OLMo 2")],
    modules: &Modules {
        model_type: "olmo2",
        choice: FamilyChoice { rank: 19, word: "olmo2", label: "OLMo 2" },
        block: BlockLayout::NormsBehind,
        norm: NormStyle::ScaledInFp32,
        query_key_norm: QueryKeyNorm::AllHeadsTogether,
        rotary_tables: RotaryTables::InFp32,
        tensor_plan: Some(TensorPlan { attention: Division::Gathered, ..TensorPlan::PLAIN }),
        measured: Measured { fused_kernels: true, ..Modules::PLAIN.measured },
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 11_008], 32, 32, 50_304, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    ..FamilySpec::PLAIN
};
