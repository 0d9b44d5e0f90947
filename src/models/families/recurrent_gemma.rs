//! `recurrent_gemma` (transformers 5.23, `models/recurrent_gemma`): Gemma's block, of which two of
//! three keep a gated linear recurrence in place of attention.

use crate::models::prelude::*;

/// `recurrent_gemma`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["recurrent_gemma"],
    class: "RecurrentGemma",
    labels: &[("recurrent_gemma", "RecurrentGemma")],
    modules: &Modules {
        model_type: "recurrent_gemma",
        choice: FamilyChoice { rank: 654, word: "recurrent-gemma", label: "RecurrentGemma" },
        embedding_scale: EmbeddingScale::NarrowBuffer,
        rotates_in_attention: true,
        mask_for_each_kind: false,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::RgLru],
            mlp_bias: Some(true),
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..*super::gemma::FAMILY.modules
    },
    sizes: Sizes::of([2560, 7680], 26, 10, 256_000, 8192),
    inner: InnerWidth::HalfOf(&["intermediate_size"]),
    rotary_percent: 50.0,
    output_bias: Flag::Is(true),
    mlp_bias: Flag::Is(true),
    window: Window::All(2048),
    not_looked_at: &["_block_types", "embeddings_scale_by_sqrt_dim"],
    logit_cap: Flag::Number("final_logit_softcapping", true),
    states: Some(States {
        fp32: true,
        ..States::of(MixerKind::RgLru, Attends::InTurn, [0, 0, 0, 1, 4])
    }),
    ..super::gemma::FAMILY
};
