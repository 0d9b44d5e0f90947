//! `gpt_neo` (transformers 5.23, `models/gpt_neo`): GPT-2's sizes without biases on queries, keys
//! and values.

use crate::models::prelude::*;

/// `gpt_neo`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_neo"],
    class: "GPTNeo",
    labels: &[("gpt_neo", "GPT-Neo")],
    // Its local layers cache the whole text all the same.
    not_looked_at: &["window_size", "attention_layers", "attention_types"],
    inner: InnerWidth::Stated(&["intermediate_size"]),
    sizes: Sizes::of([2048, 0], 24, 16, 50_257, 2048),
    modules: &Modules {
        model_type: "gpt_neo",
        choice: FamilyChoice { rank: 900, word: "gpt-neo", label: "GPT-Neo" },
        block: BlockLayout::HeldHalves,
        scores: ScoreStyle::InFp32ByBuffer,
        returns_probabilities: true,
        masks_before_positions: true,
        hands_on_positions: false,
        splits_tokens: false,
        tensor_plan: None,
        drops: Drops {
            embedding: Some(DropKey::off("embed_dropout")),
            residual: Some(DropKey::off("resid_dropout")),
            attention: Some(DropKey::off("attention_dropout")),
            ..Drops::NONE
        },
        shape: Some(ShapeRule {
            mlp_bias: Some(true),
            key_head_for_each_query_head: true,
            attention_bias: Some(false),
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    attention_bias: Flag::Is(false),
    ..super::gpt2::FAMILY
};
