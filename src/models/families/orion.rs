//! `orion` (code of its own on the hub, `OrionStarAI/Orion-14B-Base`): llama with layer norms.

use crate::models::prelude::*;

/// `orion`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["orion"],
    class: "Orion",
    labels: &[("orion", "Orion")],
    normalization: Normalization::LayerNorm,
    sizes: Sizes::of([4096, 15_360], 40, 40, 84_608, 4096),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    ..FamilySpec::PLAIN
};
