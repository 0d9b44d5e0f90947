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
    modules: &Modules::GENERIC,
    attention_bias: Flag::Is(false),
    ..super::gpt2::FAMILY
};
