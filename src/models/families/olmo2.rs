//! `olmo2` (transformers 5.23, `models/olmo2`): norms behind each half only, queries and keys normed over all heads together.

use crate::models::prelude::*;

/// `olmo2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmo2"],
    class: "Olmo2",
    labels: &[("olmo2", "OLMo 2")],
    family: Family::Olmo2,
    sizes: Sizes::of([4096, 11_008], 32, 32, 50_304, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    ..FamilySpec::PLAIN
};
