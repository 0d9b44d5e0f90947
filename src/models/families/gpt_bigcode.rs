//! `gpt_bigcode` (transformers 5.23, `models/gpt_bigcode`): GPT-2 with one key/value head.

use crate::models::prelude::*;

/// `gpt_bigcode`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_bigcode"],
    class: "GPTBigCode",
    labels: &[("gpt_bigcode", "GPT-BigCode")],
    key_value_heads: KeyValueHeads::OneOrAll,
    modules: &Modules {
        model_type: "gpt_bigcode",
        choice: FamilyChoice { rank: 903, word: "gpt-bigcode", label: "GPT-BigCode" },
        block: BlockLayout::HeldHalves,
        projections: Projections::JointByHead,
        registers_mask: true,
        masks_before_positions: true,
        hands_on_positions: false,
        splits_tokens: false,
        tensor_plan: None,
        drops: super::gpt2::FAMILY.modules.drops,
        shape: Some(ShapeRule {
            mlp_bias: Some(true),
            attention_bias: Some(true),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([768, 0], 12, 12, 50_257, 1024).kv(1),
    act: HiddenAct::Gelu,
    ..super::gpt2::FAMILY
};
