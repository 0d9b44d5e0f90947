//! `transformer` (code of its own on the hub, `fla-core` 0.6, `models/transformer`): Llama's block,
//! whose inner width follows from the hidden size.

use crate::models::prelude::*;

/// `transformer`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["transformer"],
    class: "Transformer",
    labels: &[("transformer", "Transformer (fla)")],
    older_names: true,
    sizes: Sizes::of([2048, 0], 24, 32, 32_000, 2048),
    inner: InnerWidth::TwoThirds { may_be_stated: true, default: 4 },
    attention_bias: Flag::Key("qkv_bias", false),
    qk_norm: Flag::Key("qk_norm", false),
    window: Window::All(0),
    only: &[Only::else_refused(
        "attnres_block_size",
        &[],
        "residual streams that attention weighs",
    )],
    ..FamilySpec::PLAIN
};
