//! `gpt_bigcode` (transformers 5.23, `models/gpt_bigcode`): GPT-2 with one key/value head.

use crate::models::prelude::*;

/// `gpt_bigcode`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_bigcode"],
    class: "GPTBigCode",
    labels: &[("gpt_bigcode", "GPT-BigCode")],
    key_value_heads: KeyValueHeads::OneOrAll,
    family: Family::Generic,
    sizes: Sizes::of([768, 0], 12, 12, 50_257, 1024).kv(1),
    act: HiddenAct::Gelu,
    ..super::gpt2::FAMILY
};
