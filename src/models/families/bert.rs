//! `bert` (transformers 5.23, `models/bert`): an encoder with norms behind the sums, positions and
//! token types in tables, and a dense layer before the output head.

use crate::models::prelude::*;

/// `bert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bert"],
    class: "Bert",
    labels: &[("bert", "BERT")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    modules: &Modules {
        model_type: "bert",
        choice: FamilyChoice { rank: 60, word: "bert", label: "BERT" },
        block: BlockLayout::OwnOrder,
        position_ids: PositionIds::Buffer,
        softmax_in_fp32: false,
        registers_norms_first: true,
        norms_follow_without_final: true,
        registers_head_bias_twice: true,
        splits_tokens: false,
        takes_prefix: false,
        tensor_plan: None,
        encoder: EncoderModules { tasks: TaskHeads::POOLING, ..EncoderModules::PLAIN },
        shape: Some(ShapeRule {
            encoder: true,
            attention_bias: Some(true),
            mlp_bias: Some(true),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    positions: LEARNED,
    tied: true,
    embedding_norm: true,
    final_norm: false,
    head_bias: Flag::Is(true),
    encoder: Some(Encoder::BERT),
    ..FamilySpec::CLASSIC
};
