//! The modules that run a model: the choices in which the families of transformers 5.23 differ,
//! each named after its effect. A family is a set of these choices; layers ask for a choice and
//! never for a family.

use super::{
    AttentionGate, BlockLayout, Drops, EmbeddingScale, EncoderModules, ExpertModules,
    FeedForwardStyle, IndexRotation, LinearBiases, LinearStyle, NormStyle, PositionIds,
    Projections, QueryKeyNorm, RotaryTables, RotatedLayers, RotationStyle, ScoreStyle, ShapeRule,
    SinkStyle, StateProjections,
};

/// The modules of one family, as choices.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "a list of yes and no, as in the library's code")]
pub struct Modules {
    /// The `model_type` as files write it; `generic` for modules that are assumed.
    pub model_type: &'static str,
    /// The family's name in forms and links.
    pub choice: FamilyChoice,
    /// How a block is put together.
    pub block: BlockLayout,
    /// Linear layers inside blocks.
    pub linear: LinearStyle,
    /// RMS norms.
    pub norm: NormStyle,
    /// Norms of queries and keys.
    pub query_key_norm: QueryKeyNorm,
    /// Norms of queries and keys, and of embedded tokens, have no scale, and raise the mean to a
    /// power.
    pub unscaled_norms: bool,
    /// Projections of queries, keys and values.
    pub projections: Projections,
    /// The feed-forward layer.
    pub feed_forward: FeedForwardStyle,
    /// Experts and their router.
    pub experts: ExpertModules,
    /// Projections into a state by the gated delta rule.
    pub state_projections: StateProjections,
    /// How queries and keys are rotated.
    pub rotation: RotationStyle,
    /// The layers whose queries and keys are rotated.
    pub rotated: RotatedLayers,
    /// Some layers see the tokens that an earlier one has chosen.
    pub shares_indexed_tokens: bool,
    /// How the indexer's queries and keys are rotated.
    pub index_rotation: IndexRotation,
    /// Tables of rotary cosines and sines.
    pub rotary_tables: RotaryTables,
    /// Sliding layers have rotary tables of their own.
    pub tables_for_each_kind: bool,
    /// Every layer of attention registers frequencies and makes rotary tables for itself.
    pub rotates_in_attention: bool,
    /// Layers with heads of another shape rotate the whole head.
    pub other_heads_rotate_whole: bool,
    /// Sliding layers have a mask of their own; without it all layers share one.
    pub mask_for_each_kind: bool,
    /// Frequencies of rotary tables are registered once more, for tables that are never made.
    pub registers_spare_frequencies: bool,
    /// How attention sinks enter.
    pub sinks: SinkStyle,
    /// How linear biases of the scores are added.
    pub linear_biases: LinearBiases,
    /// Where positions come from.
    pub position_ids: PositionIds,
    /// transformers' `sdpa` is given a mask in every layer, whether or not it has a window.
    pub masks_every_layer: bool,
    /// The mask is made before positions are embedded.
    pub masks_before_positions: bool,
    /// The norm before attention is registered before it; blocks of [`BlockLayout::OwnOrder`].
    pub registers_norm_before_attention: bool,
    /// A mask of all positions is a buffer, which nothing reads.
    pub registers_mask: bool,
    /// Blocks are handed position ids, which they do not read.
    pub hands_on_positions: bool,
    /// Layers that keep a state in place of attention are handed rotary tables, which they do not
    /// read.
    pub hands_rotary_to_states: bool,
    /// The factor on embedded tokens.
    pub embedding_scale: EmbeddingScale,
    /// The gate of attention's output, before it is projected.
    pub gate: AttentionGate,
    /// Attention is differential: the output of half of the heads is subtracted from the output of
    /// the other half.
    pub differential: bool,
    /// Attention's output, and the inner values of the feed-forward layer, are normed before the
    /// last product of each.
    pub norms_before_last_products: bool,
    /// Queries are scaled before their product with keys, and the product once more.
    pub scales_queries: bool,
    /// How attention that is written out makes scores.
    pub scores: ScoreStyle,
    /// The softmax of scores is in fp32 and cast back; without it, it is in the scores' format.
    pub softmax_in_fp32: bool,
    /// Values are multiplied by a constant; blocks of [`BlockLayout::PreNorm`].
    pub scales_values: bool,
    /// Values make a mask for attention, which learns (blocks of [`BlockLayout::PreNorm`]).
    pub masks_by_values: bool,
    /// The residual stream is multiplied by a number for each channel before each half is added
    /// (blocks of [`BlockLayout::PreNorm`]).
    pub scales_stream: bool,
    /// Each query's largest score is subtracted before the softmax, which is in the scores' format.
    pub subtracts_largest_score: bool,
    /// The output of each half is scaled before it is added.
    pub scales_residuals: bool,
    /// Each half is added to the normed values that it reads, in place of the values before the
    /// norm, and both are scaled; blocks of [`BlockLayout::PreNorm`].
    pub adds_to_norms: bool,
    /// Factors stand before and behind attention and state, on keys, on each column into the state,
    /// and in the feed-forward layer.
    pub scales_branches: bool,
    /// Logits are scaled.
    pub scales_logits: bool,
    /// The residual stream is in fp32 behind the first block; norms and the head read casts of it
    /// (`residual_in_fp32`).
    pub residual_in_fp32: bool,
    /// Logits are cast to fp32 as they are made, so that those of 16 bits are let go.
    pub casts_logits: bool,
    /// Attention and the feed-forward layer beside it are added to each other before they are added
    /// to the residual stream.
    pub adds_branches_first: bool,
    /// Blocks return attention's probabilities, which are held until the next block has returned.
    pub returns_probabilities: bool,
    /// Attention's input and output keep their names until the block ends.
    pub holds_attention: bool,
    /// Norms are registered before the layers that stand before them: a block's first one before
    /// its feed-forward layer, the final one before the blocks.
    pub registers_norms_first: bool,
    /// Without a final norm, the norms of a block stand behind its sums.
    pub norms_follow_without_final: bool,
    /// A bias of the output head that is registered beside the head's own, and is another one where
    /// the head is not tied.
    pub registers_head_bias_twice: bool,
    /// Ranks may have parts of the tokens between attention and feed-forward.
    pub splits_tokens: bool,
    /// Its attention can read learned keys and values from a cache (prefix tuning).
    pub takes_prefix: bool,
    /// peft refuses adapters on the output of its layers that keep a state.
    pub peft_spares_states: bool,
    /// peft turns the names that linear layers of experts and routers once had (`gate_proj`,
    /// `up_proj`, `down_proj`, `gate`) into adapters of the parameters that hold them today
    /// (`utils/transformers_weight_conversion.py`).
    pub peft_finds_experts: bool,
    /// True if a server has slots for adapters beside the embedding and the head, too (vLLM's
    /// `embedding_modules`).
    pub slots_at_both_ends: bool,
    /// True if such slots have one A for gate and up of an expert together (vLLM's
    /// `is_3d_moe_weight`).
    pub slots_of_joint_experts: bool,
    /// Choices that encoders alone have.
    pub encoder: EncoderModules,
    /// The modules of an encoder beside the decoder; `None`: there is none, or it has the
    /// decoder's.
    pub source: Option<&'static Self>,
    /// Queries, keys and values are copied into the order of heads.
    pub orders_heads: bool,
    /// The feed-forward layer's inner values are cast to the format of the last weight, before
    /// autocast casts both.
    pub feeds_as_weights: bool,
    /// The table of positions never learns (sines).
    pub freezes_positions: bool,
    /// Positions are sines in a table that is a buffer.
    pub keeps_sines: bool,
    /// The head's input is scaled, unless the file says that the head is not tied.
    pub scales_output: bool,
    /// A buffer of one number for each token is added to logits (`final_logits_bias`).
    pub adds_buffer_to_logits: bool,
    /// Where the modules drop out in training, by the keys that say so.
    pub drops: Drops,
    /// The library's plan for tensor parallelism (`base_model_tp_plan`), if it has one.
    pub tensor_plan: Option<TensorPlan>,
    /// The shapes that the modules can take; `None`: any.
    pub shape: Option<ShapeRule>,
    /// The rows that memory was measured with.
    pub measured: Measured,
    /// How llama.cpp mixes the formats of a GGUF file.
    pub gguf: GgufRules,
}

impl Modules {
    /// The choices of `llama`, which most families share, without a name.
    pub const PLAIN: Self = Self {
        model_type: "",
        choice: FamilyChoice { rank: u16::MAX, word: "", label: "" },
        block: BlockLayout::PreNorm,
        linear: LinearStyle::Linear,
        norm: NormStyle::ScaledAfterCast,
        query_key_norm: QueryKeyNorm::HeadByHead,
        unscaled_norms: false,
        projections: Projections::Separate,
        feed_forward: FeedForwardStyle::Separate,
        experts: ExpertModules::PLAIN,
        state_projections: StateProjections::Apart,
        rotation: RotationStyle::Whole,
        rotated: RotatedLayers::All,
        shares_indexed_tokens: false,
        index_rotation: IndexRotation::Halves,
        rotary_tables: RotaryTables::Whole,
        tables_for_each_kind: false,
        rotates_in_attention: false,
        other_heads_rotate_whole: false,
        mask_for_each_kind: true,
        registers_spare_frequencies: false,
        sinks: SinkStyle::Column,
        linear_biases: LinearBiases::InPlaceOfPositions,
        position_ids: PositionIds::Counted,
        masks_every_layer: false,
        masks_before_positions: false,
        registers_norm_before_attention: false,
        registers_mask: false,
        hands_on_positions: true,
        hands_rotary_to_states: true,
        embedding_scale: EmbeddingScale::None,
        gate: AttentionGate::None,
        differential: false,
        norms_before_last_products: false,
        scales_queries: false,
        scores: ScoreStyle::AsQueries,
        softmax_in_fp32: true,
        scales_values: false,
        masks_by_values: false,
        scales_stream: false,
        subtracts_largest_score: false,
        scales_residuals: false,
        adds_to_norms: false,
        scales_branches: false,
        scales_logits: false,
        residual_in_fp32: false,
        casts_logits: false,
        adds_branches_first: false,
        returns_probabilities: false,
        holds_attention: false,
        registers_norms_first: false,
        norms_follow_without_final: false,
        registers_head_bias_twice: false,
        splits_tokens: true,
        takes_prefix: true,
        peft_spares_states: false,
        peft_finds_experts: false,
        slots_at_both_ends: false,
        slots_of_joint_experts: false,
        encoder: EncoderModules::PLAIN,
        source: None,
        orders_heads: false,
        feeds_as_weights: false,
        freezes_positions: false,
        keeps_sines: false,
        scales_output: false,
        adds_buffer_to_logits: false,
        drops: Drops::NONE,
        tensor_plan: Some(TensorPlan::PLAIN),
        shape: Some(ShapeRule::PLAIN),
        measured: Measured { written_out: true, fused_kernels: false, tensor_parallel: false },
        gguf: GgufRules { rows_of_odd_length: false, eighty_layers_are_70b: false },
    };

    /// The modules of a decoder whose attention and further parts are not put together: only their
    /// parameters are counted.
    pub const COUNTED: Self = Self {
        encoder: EncoderModules::COUNTED,
        tensor_plan: None,
        takes_prefix: false,
        shape: None,
        measured: Measured { written_out: false, ..Self::PLAIN.measured },
        ..Self::PLAIN
    };

    /// The modules that are assumed for a decoder of no known family, of whatever shape.
    pub const GENERIC: Self = Self {
        model_type: "generic",
        choice: FamilyChoice { rank: u16::MAX, word: "generic", label: "Generic" },
        shape: None,
        ..Self::PLAIN
    };
}

/// The name of a family in forms and links.
#[derive(Clone, Copy, Debug)]
pub struct FamilyChoice {
    /// Families are listed in this order.
    pub rank: u16,
    /// The word in links and saved scenarios.
    pub word: &'static str,
    /// The name in forms.
    pub label: &'static str,
}

/// How tensor-parallel ranks share a part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Every rank has all of it.
    Whole,
    /// Weights are divided, and so are their products.
    Divided,
    /// Weights are divided; their products are gathered.
    Gathered,
}

/// The library's plan for tensor parallelism; experts are divided by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorPlan {
    /// How attention is shared.
    pub attention: Division,
    /// How feed-forward layers are shared.
    pub feed_forward: Division,
}

impl TensorPlan {
    /// Attention by heads, feed-forward by columns.
    pub const PLAIN: Self = Self { attention: Division::Divided, feed_forward: Division::Divided };
}

/// The rows that memory was measured with (`tests/data/truth` and `tests/data/measured`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The modules as transformers writes them.
    pub written_out: bool,
    /// Fused kernels.
    pub fused_kernels: bool,
    /// Tensor parallelism.
    pub tensor_parallel: bool,
}

/// How llama.cpp mixes the formats of a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgufRules {
    /// Rows are no multiple of 256 numbers, for which llama.cpp has mixes of its own.
    pub rows_of_odd_length: bool,
    /// 80 layers are taken for its 70B model, whose values get more bits.
    pub eighty_layers_are_70b: bool,
}
