//! `doge` (transformers 5.23, `models/doge`): llama with normed queries and keys, a mask that
//! values make, and a factor for every channel of the residual stream.

use crate::models::prelude::*;

/// `doge`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["doge"],
    class: "Doge",
    labels: &[("doge", "Doge")],
    modules: &Modules {
        model_type: "doge",
        choice: FamilyChoice { rank: 612, word: "doge", label: "Doge" },
        encoder: EncoderModules {
            buffers: PositionBuffers::None,
            embeds_in_module: false,
            writes_attention: true,
            ..EncoderModules::PLAIN
        },
        masks_by_values: true,
        scales_stream: true,
        takes_prefix: false,
        tensor_plan: None,
        splits_tokens: false,
        shape: None,
        ..Modules::PLAIN
    },
    encoder: Some(Encoder::DECODER),
    own_sizes: &[("keep_window_size", 2048)],
    keeps: Some(keeps_heads),
    only: &[Only::else_refused("is_moe", &["false"], "experts of one neuron each")],
    not_looked_at: &["num_experts", "num_experts_per_tok", "norm_topk_prob", "sliding_window"],
    sizes: Sizes::of([1024, 2048], 32, 8, 32_768, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    qk_norm: Flag::Is(true),
    ..FamilySpec::PLAIN
};
