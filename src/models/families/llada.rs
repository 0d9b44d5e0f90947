//! `llada` (code of its own on the hub, `GSAI-ML/LLaDA-8B-Base`): llama's layers in a model that
//! fills in masked tokens.

use crate::models::prelude::*;

/// `llada`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["llada"],
    class: "LLaDA",
    saved_with: &["LLaDAModelLM"],
    inner: InnerWidth::Stated(&["intermediate_size", "mlp_hidden_size"]),
    own_names: &[("vocab_size", &["embedding_size"])],
    sizes: Sizes::of([4096, 12_288], 32, 32, 126_464, 4096),
    only: &[
        Only::else_refused("block_type", &["llama"], "blocks that are not llama's"),
        Only::else_refused(
            "weight_tying",
            &["false"],
            "a tied output head that its modules do not tie",
        ),
        Only::else_refused("include_bias", &["false"], "biases on its matrices"),
        Only::else_refused("include_qkv_bias", &["false"], "biases on queries, keys and values"),
    ],
    not_looked_at: &[
        "block_group_size",
        "vocab_size",
        "layer_norm_type",
        "activation_type",
        "bias_for_layer_norm",
    ],
    ..FamilySpec::PLAIN
};
