//! `doge` (transformers 5.23, `models/doge`): llama with normed queries and keys, a mask that values make, and a factor for every channel of
//! the residual stream. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, what makes its mask of values, and two factors for every channel.
fn rest(model: &Counted, _: &Own, _: Said<'_>) -> u64 {
    let kv = model.num_key_value_heads;
    let mask = kv + kv * model.head_dim * kv + u64::from(model.attention_bias) * kv;
    model.num_hidden_layers * (attention(model) + mask + 2 * model.hidden_size)
}

/// `doge`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["doge"],
    class: "Doge",
    labels: &[("doge", "Doge")],
    modules: &Modules { model_type: "doge", choice: FamilyChoice { rank: 612, word: "doge", label: "Doge" }, ..Modules::COUNTED },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps_heads),
    only: &[Only::else_refused("is_moe", &["false"], "experts of one neuron each")],
    not_looked_at: &["num_experts", "num_experts_per_tok", "norm_topk_prob", "keep_window_size", "sliding_window"],
    sizes: Sizes::of([1024, 2048], 32, 8, 32_768, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    qk_norm: Flag::Is(true),
    ..FamilySpec::PLAIN
};
