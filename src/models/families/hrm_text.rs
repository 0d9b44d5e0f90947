//! `hrm_text` (transformers 5.23, `models/hrm_text`): two stacks of layers with gated attention and
//! unscaled norms, which run in cycles. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention and feed-forward layers of both stacks, and the state that the cycles begin with.
fn rest(model: &Counted, [layers, ..]: &Own, _: Said<'_>) -> u64 {
    let (h, inner) = (model.hidden_size, model.intermediate_size);
    let columns = model.num_attention_heads * model.head_dim;
    let attention = 5 * h * columns + u64::from(model.attention_bias) * (4 * columns + h);
    let feed = 3 * h * inner + u64::from(model.mlp_bias) * (2 * inner + h);
    2 * layers * (attention + feed) + h
}

/// `hrm_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hrm_text"],
    class: "HrmText",
    labels: &[("hrm_text", "HRM Text"), ("hrm", "HRM")],
    modules: &Modules {
        model_type: "hrm_text",
        choice: FamilyChoice { rank: 645, word: "hrm-text", label: "HRM Text" },
        encoder: EncoderModules { counts_feed_forward: true, ..EncoderModules::COUNTED },
        norm: NormStyle::Unscaled,
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps_heads),
    // `num_hidden_layers` counts a layer as often as it runs.
    own_sizes: &[("num_layers_per_stack", 16)],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([1536, 4096], 128, 12, 151_808, 2048).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    ..FamilySpec::PLAIN
};
