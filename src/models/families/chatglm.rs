//! `chatglm` (code of its own on the hub, `zai-org/chatglm2-6b` and later): one matrix for queries,
//! keys and values, one for gate and up, few key/value heads, half of each head rotated.

use crate::models::prelude::*;

/// `chatglm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["chatglm"],
    class: "ChatGLM",
    saved_with: &["ChatGLMModel"],
    labels: &[("chatglm", "ChatGLM")],
    older_names: true,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_hidden_size"]),
    sizes: Sizes::of([4096, 13_696], 28, 32, 65_024, 2048),
    rotary_percent: 50.0,
    attention_bias: Flag::Key("add_qkv_bias", false),
    output_bias: Flag::Key("add_bias_linear", false),
    mlp_bias: Flag::Key("add_bias_linear", false),
    only: &[
        Only::else_refused("rmsnorm", &["true"], "layer norms"),
        Only::else_refused(
            "multi_query_attention",
            &["true"],
            "a key/value head for each query head",
        ),
        Only::else_refused("post_layer_norm", &["true"], "no final norm"),
    ],
    not_looked_at: &["apply_query_key_layer_scaling"],
    instead: &[("position_encoding_2d", "", "chatglm-6b")],
    ..FamilySpec::PLAIN
};
