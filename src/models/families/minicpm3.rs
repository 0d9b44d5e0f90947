//! `minicpm3` (transformers 5.23, `models/minicpm3`): latent attention in llama's block, with
//! factors on embedding, residuals and logits.

use crate::models::prelude::*;

/// `minicpm3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minicpm3"],
    class: "MiniCPM3",
    labels: &[("minicpm3", "MiniCPM3")],
    // A number that scales what stands before the head.
    not_looked_at: &["dim_model_base"],
    modules: &Modules {
        model_type: "minicpm3",
        choice: FamilyChoice { rank: 40, word: "minicpm3", label: "MiniCPM3" },
        embedding_scale: EmbeddingScale::WholeBuffer,
        shape: Some(ShapeRule {
            latent: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: false,
        ..*super::deepseek_v3::FAMILY.modules
    },
    sizes: Sizes::of([2560, 6400], 62, 40, 73_448, 32_768),
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    latent: Some(Latent { query_rank: 768, rank: 256, rope: 32, nope: 64, value: 64 }),
    ..FamilySpec::PLAIN
};
