//! `moonshine` (transformers 5.23, `models/moonshine`): an encoder of three convolutions and
//! blocks, and a decoder whose feed-forward layer has a gate. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention to the text and to the sound, three convolutions, and the encoder's blocks, whose
/// heads share out the hidden size.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let [layers, heads, keys, ..] = own;
    let (h, inner) = (model.hidden_size, model.intermediate_size);
    let keys = if *keys == 0 { heads } else { keys };
    let narrow = keys * (h / heads.max(&1));
    let biases = u64::from(model.attention_bias) * (h + 2 * narrow);
    let block = 2 * h * h + 2 * h * narrow + biases + 2 * h * inner + inner + h + 2 * h;
    let convolutions = 127 * h + (7 * h * 2 * h + 2 * h) + (3 * 2 * h * h + h);
    attention_twice(model, own, said) + layers * block + convolutions + 2 * h + h
}

/// `moonshine`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["moonshine"],
    class: "Moonshine",
    labels: &[("moonshine", "Moonshine")],
    modules: &Modules {
        model_type: "moonshine",
        choice: FamilyChoice { rank: 701, word: "moonshine", label: "Moonshine" },
        encoder: EncoderModules { norms_without_bias: true, ..EncoderModules::COUNTED },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[
        ("encoder_num_hidden_layers", 6),
        ("encoder_num_attention_heads", 8),
        ("encoder_num_key_value_heads", 0),
    ],
    own_names: &[
        ("num_hidden_layers", &["num_hidden_layers", "decoder_num_hidden_layers"]),
        ("num_attention_heads", &["num_attention_heads", "decoder_num_attention_heads"]),
        ("num_key_value_heads", &["num_key_value_heads", "decoder_num_key_value_heads"]),
    ],
    not_looked_at: &["pad_head_dim_to_multiple_of"],
    sizes: Sizes::of([288, 1152], 6, 8, 32_768, 512),
    normalization: Normalization::LayerNorm,
    attention_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Is(true),
    norms: Norms::Are(3),
    tied: true,
    ..FamilySpec::PLAIN
};
