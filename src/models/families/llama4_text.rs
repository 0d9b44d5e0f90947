//! `llama4_text`, the text part of `llama4` (transformers 5.23, `models/llama4`): experts with a
//! shared one, chunked attention in most layers.

use crate::models::prelude::*;

/// `llama4_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["llama4_text", "llama4"],
    class: "Llama4",
    sizes: Sizes::of([5120, 8192], 48, 40, 202_048, 131_072).kv(8).head(128),
    // The class of whole files holds that of texts, which asks its own part alone.
    ties: Ties::OfText,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        shared: 1,
        chosen_by: &["moe_layers", "mlp_layer_types", "interleave_moe_layer_step"],
        ..Experts::of(16, 1)
    }),
    dense_inner: Some(("intermediate_size_mlp", 16_384)),
    chunks: true,
    ..FamilySpec::PLAIN
};
