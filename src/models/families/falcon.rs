//! `falcon` (transformers 5.23, `models/falcon`), earlier `RefinedWeb`: attention beside the
//! feed-forward layer, one or few key heads in a joint projection.

use crate::models::prelude::*;

/// `falcon`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["falcon", "RefinedWeb", "RefinedWebModel", "RW"],
    class: "Falcon",
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_hidden_size"]),
    key_value_heads: KeyValueHeads::OneOrAllInOldDecoder,
    older_names: true,
    modules: &Modules {
        model_type: "falcon",
        choice: FamilyChoice { rank: 11, word: "falcon", label: "Falcon" },
        block: BlockLayout::JointByGroup,
        masks_every_layer: true,
        linear_biases: LinearBiases::BesidePositions,
        splits_tokens: false,
        takes_prefix: false,
        tensor_plan: None,
        shape: Some(ShapeRule {
            norms_per_block: [1, 2],
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        gguf: GgufRules { rows_of_odd_length: true, ..Modules::PLAIN.gguf },
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4544, 0], 32, 71, 65_024, 2048),
    positions: Positions::AlibiOrRotary,
    tied: true,
    attention_bias: Flag::Key("bias", false),
    output_bias: Flag::Key("bias", false),
    mlp_bias: Flag::Key("bias", false),
    parallel: Flag::Key("parallel_attn", true),
    norms: Norms::ByDecoder,
    ..FamilySpec::CLASSIC
};
