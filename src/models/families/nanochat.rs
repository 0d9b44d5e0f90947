//! `nanochat` (transformers 5.23, `models/nanochat`): llama's block with norms that have no scale,
//! one of them before the first block, queries and keys normed after rotation, a plain feed-forward
//! layer of squared ReLU, and capped logits.

use crate::models::prelude::*;

/// `nanochat`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["nanochat"],
    class: "NanoChat",
    labels: &[("nanochat", "nanochat")],
    modules: &Modules {
        model_type: "nanochat",
        choice: FamilyChoice { rank: 28, word: "nanochat", label: "nanochat" },
        norm: NormStyle::Unscaled,
        query_key_norm: QueryKeyNorm::AfterRotation,
        rotation: RotationStyle::Backwards,
        shape: Some(ShapeRule { mlp: MlpKind::Plain, mlp_bias: Some(false), ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([768, 8192], 12, 6, 50_304, 2048),
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    embedding_norm: true,
    logit_cap: Flag::Number("final_logit_softcapping", true),
    ..FamilySpec::PLAIN
};
