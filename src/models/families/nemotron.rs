//! `nemotron` (transformers 5.23, `models/nemotron`): layer norms and a plain feed-forward layer
//! with squared ReLU.

use crate::models::prelude::*;

/// `nemotron`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["nemotron"],
    class: "Nemotron",
    modules: &Modules {
        model_type: "nemotron",
        choice: FamilyChoice { rank: 186, word: "nemotron", label: "Nemotron" },
        norm: NormStyle::LayerOfOnePlusScale,
        rotation: RotationStyle::Joined,
        shape: Some(ShapeRule { may_norm_queries_and_keys: false, ..ShapeRule::CLASSIC }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([6144, 24_576], 32, 48, 256_000, 4096),
    act: HiddenAct::Relu2,
    rotary_percent: 50.0,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    ..FamilySpec::CLASSIC
};
