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
    sizes: Sizes::of([4096, 0], 28, 16, 50_400, 2048),
    act: HiddenAct::GeluNew,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    head_bias: Flag::Is(true),
    ..FamilySpec::CLASSIC
};
