//! `gemma4_text`, the text part of `gemma4` (transformers 5.23, `models/gemma4`): layers that see the whole text have wider
//! heads; experts stand beside the dense layer. It is served here, not trained.

use crate::models::prelude::*;

/// `gemma4_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma4_text", "gemma4"],
    class: "Gemma4",
    embeds_each_layer: true,
    family: Family::Generic,
    sizes: Sizes::of([2304, 9216], 30, 8, 262_144, 131_072).kv(4).head(256),
    norms: Norms::Are(4),
    qk_norm: Flag::Is(true),
    window: Window::AllButEveryAndLast { period: 6, window: 512 },
    attention_cap: Flag::Is(false),
    logit_cap: Flag::Number("final_logit_softcapping", false),
    experts: Some(Experts { only_if: Some("enable_moe_block"), width_is_inner: false, beside_dense: true, ..Experts::of(0, 0) }),
    heads: Some(Heads::WiderWithoutWindow),
    ..super::gemma::FAMILY
};
