//! `t5` (transformers 5.23, `models/t5`): RMS norms, no biases, heads of a stated width, and in
//! each stack a table of how far keys lie from queries, which the first block has and all others
//! read.

use crate::models::prelude::*;

/// Choices of the blocks on both sides.
const BLOCKS: Modules = Modules {
    block: BlockLayout::OwnOrder,
    norm: NormStyle::ScaledInput,
    softmax_in_fp32: false,
    scales_output: true,
    feeds_as_weights: true,
    position_ids: PositionIds::Untold,
    hands_on_positions: false,
    splits_tokens: false,
    takes_prefix: false,
    tensor_plan: None,
    encoder: EncoderModules {
        embedding: EmbeddedParts::WithBiases,
        buffers: PositionBuffers::None,
        embeds_in_module: false,
        ..EncoderModules::PLAIN
    },
    shape: None,
    ..Modules::PLAIN
};

/// `t5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["t5"],
    class: "T5",
    labels: &[("t5", "T5")],
    modules: &Modules {
        model_type: "t5",
        choice: FamilyChoice { rank: 160, word: "t5", label: "T5" },
        source: Some(&BLOCKS),
        ..BLOCKS
    },
    own_names: &[
        ("hidden_size", &["hidden_size", "d_model"]),
        ("num_hidden_layers", &["num_decoder_layers"]),
        ("num_attention_heads", &["num_attention_heads", "num_heads"]),
        ("head_dim", &["head_dim", "d_kv"]),
    ],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["intermediate_size", "d_ff"]),
    sizes: Sizes::of([512, 2048], 6, 8, 32_128, 512).head(64),
    positions: Positions::Are(PositionEmbedding::None),
    mlp: MlpKind::Plain,
    tied: true,
    own_sizes: &[("relative_attention_num_buckets", 32)],
    source: Some(SourceKeys {
        deep: true,
        always_tied: true,
        feed_forward: "relu",
        ..SourceKeys::of(("num_layers", 6))
    }),
    not_looked_at: &[
        "relative_attention_max_distance",
        "dense_act_fn",
        "is_gated_act",
        "scale_decoder_outputs",
        "n_positions",
    ],
    ..FamilySpec::PLAIN
};
