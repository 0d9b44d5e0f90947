//! `eurobert` (transformers 5.23, `models/eurobert`): llama's modules, of which every token sees
//! all.

use crate::models::prelude::*;

/// `eurobert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["eurobert"],
    class: "EuroBert",
    labels: &[("eurobert", "EuroBERT")],
    modules: &Modules {
        model_type: "eurobert",
        choice: FamilyChoice { rank: 66, word: "eurobert", label: "EuroBERT" },
        splits_tokens: false,
        takes_prefix: false,
        tensor_plan: None,
        encoder: EncoderModules {
            buffers: PositionBuffers::None,
            embeds_in_module: false,
            loss_in_fp32: true,
            ..EncoderModules::PLAIN
        },
        shape: Some(ShapeRule {
            encoder: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([768, 3072], 12, 12, 128_256, 8192),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    head_bias: Flag::Key("mlp_bias", false),
    encoder: Some(Encoder { head_transform: false, ..Encoder::UNTYPED }),
    ..FamilySpec::PLAIN
};
