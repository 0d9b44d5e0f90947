//! `modernbert` (transformers 5.23, `models/modernbert`): joint projections, gated feed-forward,
//! rotated heads; most layers look around on a window, and the first block has no norm before
//! attention.

use crate::models::prelude::*;

/// `modernbert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["modernbert"],
    class: "ModernBert",
    labels: &[("modernbert", "ModernBERT")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    modules: &Modules {
        model_type: "modernbert",
        choice: FamilyChoice { rank: 72, word: "modernbert", label: "ModernBERT" },
        hands_on_positions: false,
        block: BlockLayout::OwnOrder,
        projections: Projections::JointUnbound,
        feed_forward: FeedForwardStyle::JointGateAndUp,
        rotation: RotationStyle::InFp32ByTwoCopies,
        tables_for_each_kind: true,
        holds_attention: true,
        splits_tokens: false,
        takes_prefix: false,
        tensor_plan: None,
        encoder: EncoderModules {
            tasks: TaskHeads::TRANSFORM,
            buffers: PositionBuffers::None,
            head_takes_gelu: true,
            head_bias: false,
            loss_in_fp32: true,
            norms_without_bias: true,
            first_block_unnormed: true,
            ..EncoderModules::PLAIN
        },
        shape: Some(ShapeRule {
            encoder: true,
            mlp: MlpKind::Gated,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([768, 1152], 22, 12, 50_368, 8192),
    normalization: Normalization::LayerNorm,
    act: HiddenAct::Gelu,
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    head_bias: Flag::Key("decoder_bias", true),
    embedding_norm: true,
    window: Window::Around { period: 3, window: 128 },
    encoder: Some(Encoder::UNTYPED),
    only: &[
        Only::else_refused("norm_bias", &["false"], "norms with biases"),
        Only::else_refused("classifier_bias", &["false"], "a bias before its output head"),
        Only::else_refused(
            "sparse_prediction",
            &["false"],
            "an output head that reads masked tokens alone",
        ),
    ],
    ..FamilySpec::PLAIN
};
