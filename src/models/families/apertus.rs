//! `apertus` (transformers 5.23, `models/apertus`): llama's block with normed queries and keys, and
//! a plain feed-forward layer whose activation function learns its two curvatures.

use crate::models::prelude::*;

/// `apertus`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["apertus"],
    class: "Apertus",
    labels: &[("apertus", "Apertus")],
    modules: &Modules {
        model_type: "apertus",
        choice: FamilyChoice { rank: 29, word: "apertus", label: "Apertus" },
        query_key_norm: QueryKeyNorm::AfterTransposing,
        shape: Some(ShapeRule { mlp: MlpKind::Plain, mlp_bias: Some(false), ..ShapeRule::PLAIN }),
        slots_at_both_ends: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 14_336], 32, 32, 131_072, 65_536),
    mlp: MlpKind::Plain,
    act: HiddenAct::Xielu,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    ..FamilySpec::PLAIN
};
