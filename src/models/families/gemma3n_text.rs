//! `gemma3n_text`, the text part of `gemma3n` (transformers 5.23, `models/gemma3n`): several
//! residual streams, a low-rank layer beside attention, an embedding of its own for every layer;
//! the last layers read the keys and values of earlier ones.

use crate::models::prelude::*;

/// `gemma3n_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["gemma3n_text", "gemma3n"],
    class: "Gemma3n",
    labels: &[("gemma3n_text", "Gemma 3n"), ("gemma3n", "Gemma 3n")],
    modules: &Modules {
        model_type: "gemma3n_text",
        choice: FamilyChoice { rank: 27, word: "gemma3n", label: "Gemma 3n" },
        norm: NormStyle::ScaledByPower,
        embedding_scale: EmbeddingScale::Buffer,
        tables_for_each_kind: true,
        takes_prefix: false,
        shape: Some(ShapeRule {
            norms_per_block: [4, 4],
            altup: true,
            mlp_bias: Some(false),
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2048, 16_384], 35, 8, 262_400, 32_768).kv(2).head(256),
    act: HiddenAct::Gelu,
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    norms: Norms::Are(4),
    window: Window::AllButEvery { period: 5, window: 512 },
    logit_cap: Flag::Number("final_logit_softcapping", true),
    streams: Some(ManyStreams {
        num_inputs: 4,
        laurel_rank: 64,
        hidden_size_per_layer_input: 256,
        vocab_size_per_layer_input: 262_144,
        num_kv_shared_layers: 15,
        first_sparse: 10,
    }),
    ..FamilySpec::PLAIN
};
