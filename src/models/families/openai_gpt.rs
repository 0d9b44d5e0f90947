//! `openai-gpt` (transformers 5.23, `models/openai`), the first GPT: GPT-2's parameters without a
//! final norm, and norms behind the sums. Its modules are assumed to be those of a plain decoder.

use crate::models::prelude::*;

/// `openai-gpt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["openai-gpt"],
    class: "OpenAIGPT",
    labels: &[("openai-gpt", "GPT (2018)")],
    older_names: true,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::FourTimes,
    sizes: Sizes::of([768, 0], 12, 12, 40_478, 512),
    act: HiddenAct::GeluNew,
    positions: LEARNED,
    tied: true,
    final_norm: false,
    ..FamilySpec::CLASSIC
};
