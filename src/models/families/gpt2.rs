//! `gpt2` (transformers 5.23, `models/gpt2`): one projection for queries, keys and values, in
//! layers that keep their weights transposed (`Conv1D`).

use crate::models::prelude::*;

/// `gpt2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt2", "gpt-sw3"],
    class: "GPT2",
    labels: &[("gpt2", "GPT-2")],
    inner: InnerWidth::Stated(&["intermediate_size", "n_inner"]),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    modules: &Modules {
        model_type: "gpt2",
        choice: FamilyChoice { rank: 7, word: "gpt2", label: "GPT-2" },
        block: BlockLayout::HeldHalves,
        projections: Projections::Joint,
        linear: LinearStyle::Conv1d,
        softmax_in_fp32: false,
        drops: Drops {
            embedding: Some(DropKey { key: "embd_pdrop", default: 0.1 }),
            residual: Some(DropKey { key: "resid_pdrop", default: 0.1 }),
            attention: Some(DropKey { key: "attn_pdrop", default: 0.1 }),
            as_added: false,
        },
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
    sizes: Sizes::of([768, 0], 12, 12, 50_257, 1024),
    act: HiddenAct::GeluNew,
    positions: LEARNED,
    tied: true,
    ..FamilySpec::CLASSIC
};
