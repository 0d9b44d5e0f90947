//! `gpt_neox_japanese` (transformers 5.23, `models/gpt_neox_japanese`): one projection whose
//! columns alternate head by head, no biases but one behind the last layer's attention. Its
//! parameters are counted alone.

use crate::models::prelude::*;

/// Attention's two matrices, and the bias of the last one.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    model.num_hidden_layers * 4 * h * h + h
}

/// `gpt_neox_japanese`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gpt_neox_japanese"],
    class: "GPTNeoXJapanese",
    labels: &[("gpt_neox_japanese", "GPT-NeoX Japanese")],
    modules: &Modules {
        model_type: "gpt_neox_japanese",
        choice: FamilyChoice { rank: 640, word: "gpt-neox-japanese", label: "GPT-NeoX Japanese" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps_heads),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Multiple(("intermediate_multiple_size", 4)),
    heads_fill_hidden: true,
    sizes: Sizes::of([2560, 10_240], 32, 32, 32_000, 2048),
    tied: true,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    mlp_bias: Flag::Is(false),
    ..FamilySpec::CLASSIC
};
