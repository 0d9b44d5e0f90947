//! `ultrabert` (transformers 5.23, `models/ultrabert`): an encoder of Llama's blocks, and two
//! matrices before its head. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, and two matrices before the head.
fn rest(model: &Counted, [width, ..]: &Own, _: Said<'_>) -> u64 {
    model.num_hidden_layers * attention(model) + 2 * width * model.hidden_size
}

/// `ultrabert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ultrabert"],
    class: "Ultrabert",
    labels: &[("ultrabert", "UltraBERT")],
    modules: &Modules {
        model_type: "ultrabert",
        choice: FamilyChoice { rank: 100, word: "ultrabert", label: "UltraBERT" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder { is_decoder: false, ..Encoder::DECODER }),
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[("prediction_head_size", 768)],
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 32_768),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    window: Window::Listed(128),
    ..FamilySpec::PLAIN
};
