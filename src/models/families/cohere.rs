//! `cohere` (transformers 5.23, `models/cohere`): attention beside the feed-forward layer on one
//! norm of mean and variance, scaled logits.

use crate::models::prelude::*;

/// `cohere`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cohere"],
    class: "Cohere",
    labels: &[("cohere", "Command R")],
    modules: &Modules {
        model_type: "cohere",
        choice: FamilyChoice { rank: 20, word: "cohere", label: "Cohere" },
        block: BlockLayout::OwnOrder,
        norm: NormStyle::MeanAndVariance,
        query_key_norm: QueryKeyNorm::OwnScales,
        rotation: RotationStyle::InFp32,
        scales_logits: true,
        shape: Some(ShapeRule { normalization: None, norms_per_block: [1, 1], ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    // Its layer norms have a scale and no bias: counted as RMS norms, which have the same one
    // vector.
    sizes: Sizes::of([8192, 22_528], 40, 64, 256_000, 8192),
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Key("use_qk_norm", false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    ..FamilySpec::PLAIN
};
