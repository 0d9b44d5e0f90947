//! `opt` (transformers 5.23, `models/opt`): learned positions counted from the mask, a feed-forward
//! layer written into the block.

use crate::models::prelude::*;

/// `opt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["opt"],
    class: "OPT",
    labels: &[("opt", "OPT")],
    moves_norms_and_narrows_embedding: true,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_dim"]),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    modules: &Modules {
        model_type: "opt",
        choice: FamilyChoice { rank: 9, word: "opt", label: "OPT" },
        block: BlockLayout::OwnOrder,
        feed_forward: FeedForwardStyle::InLine,
        position_ids: PositionIds::FromMask,
        scales_queries: true,
        registers_norms_first: true,
        norms_follow_without_final: true,
        splits_tokens: false,
        drops: Drops {
            embedding: None,
            residual: Some(DropKey { key: "dropout", default: 0.1 }),
            attention: Some(DropKey::off("attention_dropout")),
            as_added: false,
        },
        tensor_plan: None,
        shape: Some(ShapeRule { may_norm_queries_and_keys: false, ..ShapeRule::CLASSIC }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_272, 2048),
    act: HiddenAct::Relu,
    positions: Positions::LearnedPlus(2),
    tied: true,
    attention_bias: Flag::Key("enable_bias", true),
    output_bias: Flag::Key("enable_bias", true),
    mlp_bias: Flag::Key("enable_bias", true),
    ..FamilySpec::CLASSIC
};
