//! `t5gemma` (transformers 5.23, `models/t5gemma`): Gemma 2's blocks on both sides, with attention
//! to the encoder's states between two norms of its own. Parameters are counted alone.

use crate::models::prelude::*;

/// Choices of the blocks on both sides.
const BLOCKS: Modules = Modules {
    block: BlockLayout::OwnOrder,
    norm: NormStyle::OnePlusScale,
    splits_tokens: false,
    takes_prefix: false,
    tensor_plan: None,
    encoder: EncoderModules {
        trains: false,
        buffers: PositionBuffers::None,
        ..EncoderModules::PLAIN
    },
    shape: None,
    ..Modules::PLAIN
};

/// `t5gemma`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["t5gemma"],
    class: "T5Gemma",
    labels: &[("t5gemma", "T5Gemma")],
    modules: &Modules {
        model_type: "t5gemma",
        choice: FamilyChoice { rank: 182, word: "t5gemma", label: "T5Gemma" },
        source: Some(&BLOCKS),
        encoder: EncoderModules {
            further: &[Further::vector_in_blocks("norm behind cross-attention", Extent::Hidden)],
            ..BLOCKS.encoder
        },
        ..BLOCKS
    },
    sizes: Sizes::of([2304, 9216], 26, 8, 256_000, 8192).kv(4).head(256),
    act: HiddenAct::GeluNew,
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    norms: Norms::Are(4),
    window: Window::Listed(4096),
    source: Some(SourceKeys {
        hidden: Some(("encoder.hidden_size", 2304)),
        heads: Some(("encoder.num_attention_heads", 8)),
        key_heads: Some(("encoder.num_key_value_heads", 4)),
        head: Some(("encoder.head_dim", 256)),
        inner: Some(("encoder.intermediate_size", 9216)),
        vocab: Some(("encoder.vocab_size", 256_000)),
        shares_words: false,
        groups: Some(["encoder", "decoder"]),
        ..SourceKeys::of(("encoder.num_hidden_layers", 26))
    }),
    only: &[Only::else_refused(
        "encoder.attention_bias",
        &["false"],
        "biases of attention in its encoder",
    )],
    not_looked_at: &[
        "encoder.layer_types",
        "encoder.sliding_window",
        "encoder.attn_logit_softcapping",
        "encoder.final_logit_softcapping",
        "encoder.max_position_embeddings",
        "encoder.query_pre_attn_scalar",
        "encoder.tie_word_embeddings",
        "encoder.hidden_activation",
        "encoder.rope_parameters",
        "query_pre_attn_scalar",
        "cross_attention_hidden_size",
        "attn_logit_softcapping",
        "final_logit_softcapping",
        "layer_types",
    ],
    ..FamilySpec::PLAIN
};
