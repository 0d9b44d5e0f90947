//! `phimoe` (transformers 5.23, `models/phimoe`): layer norms, experts of which the router picks a
//! first and a second one.

use crate::models::prelude::*;

/// `phimoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["phimoe"],
    class: "PhiMoE",
    labels: &[("phimoe", "Phi-3.5 MoE")],
    sizes: Sizes::of([4096, 6400], 32, 32, 32_064, 131_072).kv(8),
    normalization: Normalization::LayerNorm,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    window: Window::All(0),
    // `sparsemixer` picks a first and a second expert.
    experts: Some(Experts { always: true, ..Experts::of(16, 2) }),
    head_bias: Flag::Key("lm_head_bias", false),
    ..FamilySpec::PLAIN
};
