//! `bart` (transformers 5.23, `models/bart`): an encoder and a decoder with norms behind the sums
//! and learned positions; the decoder's blocks read the encoder's last states.

use crate::models::prelude::*;

/// Choices of the blocks on both sides.
const BLOCKS: Modules = Modules {
    block: BlockLayout::OwnOrder,
    feed_forward: FeedForwardStyle::InLine,
    embedding_scale: EmbeddingScale::Number,
    softmax_in_fp32: false,
    norms_follow_without_final: true,
    hands_on_positions: false,
    splits_tokens: false,
    takes_prefix: false,
    tensor_plan: None,
    shape: Some(ShapeRule {
        source: true,
        attention_bias: Some(true),
        mlp_bias: Some(true),
        output_bias_as_others: true,
        may_norm_queries_and_keys: false,
        ..ShapeRule::CLASSIC
    }),
    ..Modules::PLAIN
};

/// Choices of the encoder.
pub(super) const SOURCE: Modules = Modules {
    position_ids: PositionIds::FromTokens,
    encoder: EncoderModules {
        buffers: PositionBuffers::None,
        embeds_in_module: false,
        ..EncoderModules::PLAIN
    },
    ..BLOCKS
};

/// `bart`.
pub const FAMILY: FamilySpec = FamilySpec {
    // Florence-2's files on the hub give their part for text no kind.
    names: &["bart", "florence2"],
    class: "Bart",
    saved_with: &["Florence2ForConditionalGeneration"],
    labels: &[("bart", "BART"), ("florence2", "Florence-2")],
    modules: &Modules {
        model_type: "bart",
        choice: FamilyChoice { rank: 140, word: "bart", label: "BART" },
        position_ids: PositionIds::BesideMask,
        adds_buffer_to_logits: true,
        source: Some(&SOURCE),
        ..BLOCKS
    },
    own_names: DECODER,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    inner: InnerWidth::Stated(&["decoder_ffn_dim"]),
    sizes: Sizes::of([1024, 4096], 12, 16, 50_265, 1024),
    positions: Positions::LearnedPlus(2),
    tied: true,
    embedding_norm: true,
    final_norm: false,
    source: Some(SourceKeys::encoder(12, 16, 4096).or_absent()),
    not_looked_at: &["encoder_layerdrop", "decoder_layerdrop"],
    ..FamilySpec::CLASSIC
};
