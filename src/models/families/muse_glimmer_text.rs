//! `muse_glimmer_text`, the text part of Muse Glimmer (transformers 5.23): Trinity's block without
//! experts, with a norm of queries and keys that has no scale.

use crate::models::prelude::*;

/// `muse_glimmer_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["muse_glimmer_text"],
    class: "MuseGlimmerText",
    labels: &[("muse_glimmer", "Muse Glimmer")],
    modules: &Modules {
        model_type: "muse_glimmer_text",
        choice: FamilyChoice { rank: 2105, word: "museglimmer", label: "Muse Glimmer" },
        block: BlockLayout::Sandwich,
        norm: NormStyle::ScaledInFp32,
        query_key_norm: QueryKeyNorm::OnceAllAreMade,
        unscaled_norms: true,
        gate: AttentionGate::OfColumns,
        tensor_plan: None,
        shape: Some(ShapeRule {
            mlp_bias: Some(false),
            norms_per_block: [4, 4],
            output_bias_as_others: true,
            ..ShapeRule::PLAIN
        }),
        measured: Measured { written_out: false, fused_kernels: false, tensor_parallel: false },
        ..Modules::PLAIN
    },
    sizes: Sizes::of([6656, 19_968], 52, 32, 202_048, 131_072).kv(2).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    norms: Norms::Are(4),
    embedding_norm: true,
    window: Window::AllButEvery { period: 4, window: 2048 },
    logit_cap: Flag::Number("final_logit_softcapping", true),
    not_looked_at: &["layer_rope_theta"],
    ..FamilySpec::PLAIN
};
