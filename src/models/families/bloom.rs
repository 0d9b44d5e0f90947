//! `bloom` (transformers 5.23, `models/bloom`): linear biases on the scores, a norm behind the
//! embedding.

use crate::models::prelude::*;

/// `bloom`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bloom"],
    class: "Bloom",
    labels: &[("bloom", "BLOOM")],
    inner: InnerWidth::FourTimes,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    modules: &Modules {
        model_type: "bloom",
        choice: FamilyChoice { rank: 10, word: "bloom", label: "BLOOM" },
        block: BlockLayout::JointByHeadBiased,
        splits_tokens: false,
        takes_prefix: false,
        tensor_plan: None,
        shape: Some(ShapeRule {
            mlp_bias: Some(true),
            key_head_for_each_query_head: true,
            attention_bias: Some(true),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([64, 0], 2, 8, 250_880, 2048),
    positions: Positions::Are(PositionEmbedding::Alibi),
    tied: true,
    embedding_norm: true,
    ..FamilySpec::CLASSIC
};
