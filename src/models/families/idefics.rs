//! `idefics` (transformers 5.23): llama's block; layers that attend to patches stand between the
//! blocks and belong to its projector.

use crate::models::prelude::*;

/// `idefics`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["idefics"],
    class: "Idefics",
    labels: &[("idefics", "IDEFICS")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    modules: &Modules::GENERIC,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    mlp_bias: Flag::Is(false),
    only: &[Only::else_refused(
        "additional_vocab_size",
        &["0"],
        "further tokens with an embedding of their own",
    )],
    not_looked_at: &[
        "freeze_text_layers",
        "freeze_vision_layers",
        "freeze_lm_head",
        "alpha_type",
        "qk_layer_norms",
    ],
    ..super::llama::FAMILY
};
