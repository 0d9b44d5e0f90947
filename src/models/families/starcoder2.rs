//! `starcoder2` (transformers 5.23, `models/starcoder2`): llama's block with layer norms, biases
//! and a plain feed-forward layer.

use crate::models::prelude::*;

/// `starcoder2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["starcoder2"],
    class: "Starcoder2",
    not_looked_at: &["mlp_type", "norm_type"],
    modules: &Modules {
        model_type: "starcoder2",
        choice: FamilyChoice { rank: 21, word: "starcoder2", label: "StarCoder2" },
        mask_for_each_kind: false,
        shape: Some(ShapeRule { may_norm_queries_and_keys: false, ..ShapeRule::CLASSIC }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([3072, 12_288], 30, 24, 49_152, 4096).kv(2),
    tied: true,
    attention_bias: Flag::Key("use_bias", true),
    output_bias: Flag::Key("use_bias", true),
    mlp_bias: Flag::Key("use_bias", true),
    window: Window::All(0),
    ..FamilySpec::CLASSIC
};
