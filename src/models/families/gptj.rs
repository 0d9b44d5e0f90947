//! `gptj` (transformers 5.23, `models/gptj`): attention beside the feed-forward layer on one norm,
//! biases on the feed-forward layer and the head only.

use crate::models::prelude::*;

/// `gptj`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gptj"],
    class: "GPTJ",
    labels: &[("gptj", "GPT-J")],
    inner: InnerWidth::Stated(&["intermediate_size", "n_inner"]),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    modules: &Modules {
        model_type: "gptj",
        choice: FamilyChoice { rank: 901, word: "gpt-j", label: "GPT-J" },
        block: BlockLayout::OwnOrder,
        rotation: RotationStyle::Neighbours,
        rotates_in_attention: true,
        scores: ScoreStyle::InFp32,
        registers_norm_before_attention: true,
        adds_branches_first: true,
        returns_probabilities: true,
        splits_tokens: false,
        tensor_plan: None,
        drops: Drops {
            embedding: Some(DropKey::off("embd_pdrop")),
            residual: Some(DropKey::off("resid_pdrop")),
            attention: Some(DropKey::off("attn_pdrop")),
            ..Drops::NONE
        },
        shape: Some(ShapeRule {
            mlp_bias: Some(true),
            norms_per_block: [1, 1],
            key_head_for_each_query_head: true,
            attention_bias: Some(false),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 0], 28, 16, 50_400, 2048),
    act: HiddenAct::GeluNew,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    head_bias: Flag::Is(true),
    ..FamilySpec::CLASSIC
};
