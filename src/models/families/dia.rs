//! `dia_decoder` (transformers 5.23, `models/dia`): a decoder of several channels of codes that
//! reads text. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention to the codes and to the text, whose heads have a width of their own, and words and
/// heads of further channels.
fn rest(model: &Counted, [channels, heads, keys, width, source, ..]: &Own, _: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let reads = 2 * h * heads * width + 2 * source * keys * width;
    let words = 2 * channels.saturating_sub(1) * model.vocab_size * h;
    model.num_hidden_layers * (attention(model) + reads) + words
}

/// `dia_decoder`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["dia_decoder"],
    class: "Dia",
    labels: &[("dia_decoder", "Dia")],
    modules: &Modules {
        model_type: "dia_decoder",
        choice: FamilyChoice { rank: 704, word: "dia", label: "Dia" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[
        ("num_channels", 9),
        ("cross_num_attention_heads", 16),
        ("cross_num_key_value_heads", 16),
        ("cross_head_dim", 128),
        ("cross_hidden_size", 1024),
    ],
    sizes: Sizes::of([2048, 8192], 18, 16, 1028, 3072).kv(4).head(128),
    ties: Ties::Never,
    norms: Norms::Are(3),
    ..FamilySpec::PLAIN
};
