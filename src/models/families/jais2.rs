//! `jais2` (transformers 5.23, `models/jais2`): llama's block with layer norms, biases and a plain
//! feed-forward layer of squared ReLU.

use crate::models::prelude::*;

/// `jais2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["jais2"],
    class: "Jais2",
    labels: &[("jais2", "Jais 2")],
    modules: &Modules {
        model_type: "jais2",
        choice: FamilyChoice { rank: 31, word: "jais2", label: "Jais 2" },
        shape: Some(ShapeRule { may_norm_queries_and_keys: false, ..ShapeRule::CLASSIC }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([3328, 26_624], 32, 26, 150_272, 8192).head(128),
    act: HiddenAct::Relu2,
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_bias", true),
    mlp_bias: Flag::Key("mlp_bias", true),
    ..FamilySpec::CLASSIC
};
