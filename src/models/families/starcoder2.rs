//! `starcoder2` (transformers 5.23, `models/starcoder2`): llama's block with layer norms, biases and a plain feed-forward layer.

use crate::models::prelude::*;

/// `starcoder2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["starcoder2"],
    class: "Starcoder2",
    not_looked_at: &["mlp_type", "norm_type"],
    family: Family::Starcoder2,
    sizes: Sizes::of([3072, 12_288], 30, 24, 49_152, 4096).kv(2),
    tied: true,
    attention_bias: Flag::Key("use_bias", true),
    output_bias: Flag::Key("use_bias", true),
    mlp_bias: Flag::Key("use_bias", true),
    window: Window::All(0),
    ..FamilySpec::CLASSIC
};
