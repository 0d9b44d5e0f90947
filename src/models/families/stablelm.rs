//! `stablelm` (transformers 5.23, `models/stablelm`): layer norms, a quarter of each head rotated,
//! a norm of its own for every head.

use crate::models::prelude::*;

/// `stablelm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["stablelm"],
    class: "StableLm",
    labels: &[("stablelm", "StableLM")],
    modules: &Modules {
        model_type: "stablelm",
        choice: FamilyChoice { rank: 22, word: "stablelm", label: "StableLM" },
        block: BlockLayout::OwnOrder,
        query_key_norm: QueryKeyNorm::OwnNorms,
        rotation: RotationStyle::HeldParts,
        holds_attention: true,
        tensor_plan: None,
        shape: Some(ShapeRule {
            normalization: Some(Normalization::LayerNorm),
            norms_per_block: [1, 2],
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2560, 6912], 32, 32, 50_304, 4096).kv(32),
    normalization: Normalization::LayerNorm,
    rotary_percent: 25.0,
    attention_bias: Flag::Key("use_qkv_bias", false),
    qk_norm: Flag::Key("qk_layernorm", false),
    parallel: Flag::Key("use_parallel_residual", false),
    norms: Norms::OneIfParallel,
    ..FamilySpec::PLAIN
};
